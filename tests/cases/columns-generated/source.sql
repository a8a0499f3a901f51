CREATE TABLE t (id INT PRIMARY KEY, a INT, twice INT GENERATED ALWAYS AS (a * 2) VIRTUAL, quoted VARCHAR(20) GENERATED ALWAYS AS (CONCAT('<', a, '>')) STORED, b INT);
CREATE TABLE hidden (id INT PRIMARY KEY, shown INT, unseen INT INVISIBLE);
INSERT INTO t (id, a, b) VALUES (1, 10, 1), (2, NULL, 2);
UPDATE t SET a = 20 WHERE id = 2;
INSERT INTO hidden (id, shown) VALUES (1, 1);
INSERT INTO hidden (id, shown, unseen) VALUES (2, 2, 2);
