-- only: mariadb
CREATE TABLE good (id INT PRIMARY KEY, v INT, w INT DEFAULT 5);
CREATE TABLE replaced (id INT PRIMARY KEY, v INT, w INT DEFAULT 5);
CREATE TABLE text_kept (id INT PRIMARY KEY, v INT, b TEXT);
CREATE TABLE computed (id INT PRIMARY KEY, v INT, w INT AS (v + 1) VIRTUAL);
INSERT INTO good VALUES (1, 1, 1);
INSERT INTO replaced VALUES (1, 1, 1);
INSERT INTO text_kept VALUES (1, 1, 'b');
INSERT INTO computed (id, v) VALUES (1, 1);
SET SESSION binlog_row_image = MINIMAL;
UPDATE good SET v = 2;
REPLACE INTO replaced (id, v) VALUES (1, 2);
UPDATE computed SET v = 2;
SET SESSION binlog_row_image = NOBLOB;
UPDATE good SET v = v + 1;
REPLACE INTO text_kept (id, v) VALUES (1, 2);
