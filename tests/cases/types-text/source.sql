CREATE TABLE t (id INT PRIMARY KEY, a CHAR(5), b VARCHAR(300) CHARACTER SET utf8mb4, c VARCHAR(20) CHARACTER SET latin1,
  d TINYTEXT CHARACTER SET latin1, e TEXT, f MEDIUMTEXT, g LONGTEXT, h CHAR(255) CHARACTER SET utf8mb4) CHARACTER SET utf8mb4;
CREATE TABLE keyed (k VARCHAR(20) PRIMARY KEY, v INT) CHARACTER SET utf8mb4;
INSERT INTO t VALUES (1, 'abc  ', 'größe 日本 😀', 'é€ß', 'ÿ', '', 'm', 'l', 'x');
INSERT INTO t VALUES (2, '', '', '', '', '', '', '', '');
INSERT INTO t VALUES (3, 'it''s', '"\\', 'a\nb', 'tab\t', REPEAT('é', 600), REPEAT('m', 66000), REPEAT('日', 100), REPEAT('😀', 255));
INSERT INTO t (id) VALUES (4);
INSERT INTO t (id, b) VALUES (5, CONCAT('nul', CHAR(0 USING utf8mb4), 'inside'));
INSERT INTO keyed VALUES ('a', 1), ('ключ', 2), ('😀', 3);
UPDATE keyed SET k = 'A' WHERE k = 'a';
UPDATE keyed SET v = 20 WHERE k = 'ключ';
DELETE FROM keyed WHERE v = 3;
