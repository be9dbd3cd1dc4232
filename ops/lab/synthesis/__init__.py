"""The search for a schedule that suits a machine: plans of who sends what when, drawn, matched and bettered."""
