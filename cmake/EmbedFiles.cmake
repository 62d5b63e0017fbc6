# Writes files into one C++ source as rows of a table, so that the program
# carries them with it. A row holds FIELDS of the file's path (its `folder`, its
# `name`, its `stem`: the name without extension), then its text.
#
#   cmake -DFILES=a.csv,b.csv -DFIELDS=name -DHEADER=cli/x.h -DROW=EmbeddedFile
#         -DFUNCTION=Name -DOUTPUT=file.cc -P EmbedFiles.cmake
string(REPLACE "," ";" files "${FILES}")
string(REPLACE "," ";" fields "${FIELDS}")
set(body "")
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  get_filename_component(stem ${file} NAME_WE)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  string(APPEND body "    {")
  foreach(field ${fields})
    string(APPEND body "\"${${field}}\", ")
  endforeach()
  # As raw strings, in pieces below the length that compilers must accept.
  file(READ ${file} text)
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND body " R\"~~~(${piece})~~~\"")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND body "},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated.
#include \"${HEADER}\"

namespace orrery {
namespace {
constexpr ${ROW} kRows[] = {
${body}};
}  // namespace

absl::Span<const ${ROW}> ${FUNCTION}() { return kRows; }

}  // namespace orrery
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
