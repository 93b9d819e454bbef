"""Files: records read into tables, plans kept between questions, owner lists, and synthetic cities."""
