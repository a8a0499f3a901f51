CREATE TABLE t (
  id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET cp1251, b CHAR(20) CHARACTER SET koi8r, c TEXT CHARACTER SET latin2,
  d VARCHAR(20) CHARACTER SET gbk, e VARCHAR(20) CHARACTER SET sjis, f CHAR(20) CHARACTER SET utf16, g TEXT CHARACTER SET ucs2,
  h VARCHAR(20) CHARACTER SET utf32, i VARCHAR(20) CHARACTER SET euckr, j VARCHAR(20) CHARACTER SET big5,
  k ENUM('да', 'нет') CHARACTER SET cp1251, l SET('ä', 'ß') CHARACTER SET cp850
);
INSERT INTO t VALUES (1, 'Привет', 'мир', 'Žluťoučký', '你好', '表ソ', 'naïve 😀', 'Grüße', '𝄞 ok', '안녕', '功能', 'нет', 'ß,ä');
INSERT INTO t VALUES (2, '', '', '', '', '', '', '', '', '', '', 'да', '');
UPDATE t SET d = '中文', e = 'ラーメン', f = 'x ' WHERE id = 2;
CREATE TABLE k (name VARCHAR(20) CHARACTER SET sjis PRIMARY KEY, v INT);
INSERT INTO k VALUES ('表', 1), ('能', 2), ('a', 3);
UPDATE k SET name = 'ソ' WHERE name = '能';
DELETE FROM k WHERE name = 'a';
