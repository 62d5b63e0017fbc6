# Writes files into one C++ source as (name, text) pairs, so that the program
# carries them with it.
#
#   cmake -DFILES=a.csv,b.csv -DHEADER=cli/x.h -DFUNCTION=Name -DOUTPUT=file.cc
#         -P EmbedFiles.cmake
string(REPLACE "," ";" files "${FILES}")
set(body "")
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  # As raw strings, in pieces below the length that compilers must accept.
  file(READ ${file} text)
  string(LENGTH "${text}" length)
  set(pieces "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND pieces " R\"~~~(${piece})~~~\"")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND body "    {\"${name}\", ${pieces}},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated.
#include \"${HEADER}\"

namespace orrery {
namespace {
constexpr EmbeddedFile kFiles[] = {
${body}};
}  // namespace

absl::Span<const EmbeddedFile> ${FUNCTION}() { return kFiles; }

}  // namespace orrery
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
