"""The browser's front door: `streamlit run app.py`."""

from ui.page import main

if __name__ == "__main__":
    main()
