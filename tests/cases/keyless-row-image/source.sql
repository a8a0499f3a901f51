-- Servers log whole before images of such tables, whatever binlog_row_image says.
CREATE TABLE t (a INT DEFAULT 4, b INT DEFAULT 5, tx TEXT, u INT NULL, UNIQUE KEY (u));
SET SESSION binlog_row_image = MINIMAL;
INSERT INTO t VALUES (1, 2, 'x', 3), (1, 2, 'x', NULL), (1, 2, 'x', NULL), (1, 2, NULL, NULL);
INSERT INTO t (a) VALUES (9), (9);
INSERT INTO t (tx) VALUES ('only');
UPDATE t SET b = 9 WHERE u IS NULL AND tx = 'x' LIMIT 1;
UPDATE t SET tx = NULL WHERE b = 2 AND u IS NULL;
DELETE FROM t WHERE a = 9 LIMIT 1;
REPLACE INTO t (a, u) VALUES (8, 3);
SET SESSION binlog_row_image = NOBLOB;
INSERT INTO t (a) VALUES (9);
UPDATE t SET b = b + 1 WHERE a = 1 LIMIT 2;
UPDATE t SET tx = 'y' WHERE b = 9 LIMIT 1;
DELETE FROM t WHERE a = 9 LIMIT 1;
REPLACE INTO t (a, u) VALUES (7, 3);
