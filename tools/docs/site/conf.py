"""Sphinx's settings of the site. tools/docs/site/build.py lays the pages out and calls Sphinx with this file."""
project = "Wootz"
author = "the authors of Wootz"
copyright = "the authors of Wootz, Apache-2.0"  # noqa: A001: Sphinx's name
extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]

html_theme = "furo"
html_title = "Wootz"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f6feb", "color-brand-content": "#1f6feb"},
    "dark_css_variables": {"color-brand-primary": "#58a6ff", "color-brand-content": "#58a6ff"},
}
pygments_style = "friendly"
pygments_dark_style = "monokai"
highlight_language = "text"

toc_object_entries = False  # thousands of names in every page's contents: classes have headings instead
python_use_unqualified_type_names = True
add_module_names = False
maximum_signature_line_length = 100
cpp_maximum_signature_line_length = 100
