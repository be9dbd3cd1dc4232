"""The browser's front door: `streamlit run app.py`."""

from ui.front import main

if __name__ == "__main__":
    main()
