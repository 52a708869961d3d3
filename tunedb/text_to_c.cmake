# text_to_c.cmake -- a text file as a NUL-terminated C array of character codes.
file(READ "${IN}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," codes "${hex}")
file(WRITE "${OUT}" "extern const char ${NAME}[];\nconst char ${NAME}[] = {${codes}0};\n")
