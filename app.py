"""The browser's front door: `streamlit run app.py`."""

if __name__ == "__main__":  # a worker's process reads this file too, and is no page
    from ui.front import main

    main()
