CREATE TABLE p (id INT PRIMARY KEY, v INT);
CREATE TABLE c (id INT PRIMARY KEY, p INT, q INT, v INT, t TEXT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE,
  FOREIGN KEY (q) REFERENCES p (id) ON DELETE SET NULL);
INSERT INTO p VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5);
INSERT INTO c VALUES (1, 1, 2, 1, 'eins'), (2, 2, 1, 2, 'zwei'), (3, 3, 1, 3, 'drei'), (4, 4, 3, 4, 'vier'), (5, 1, 1, 5, 'fünf');
ALTER TABLE p ADD w INT;
SET SESSION binlog_row_image = MINIMAL;
UPDATE c SET v = 9 WHERE id IN (1, 3);
UPDATE c SET p = 4 WHERE id = 5;
INSERT INTO c (id, p, v) VALUES (6, 5, 6), (7, 1, 7);
UPDATE p SET v = 11 WHERE id = 1;
DELETE FROM p WHERE id = 1;
UPDATE c SET t = 'changed' WHERE id = 4;
DELETE FROM p WHERE id = 3;
