"""The drawer over the picture, and what folds away there and elsewhere."""
