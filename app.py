"""The browser's front door: `streamlit run app.py`.

The same file is the page, which Streamlit runs for every visitor, and the application around it, which the server
imports once. A worker's process may read it too, and is neither.
"""

if __name__ == "__main__":
    from ui.frame.front import main

    main()
elif __name__ != "__mp_main__":
    from streamlit import App

    from ui.server.application import around

    app = App(__file__, **around())
