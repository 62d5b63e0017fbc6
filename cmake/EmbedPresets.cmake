# Writes the presets of catalog/<kind>/*.textproto into one C++ source, sorted
# by kind and name, so that the program carries its catalogue with it.
#
#   cmake -DCATALOG=dir -DOUTPUT=file.cc -P EmbedPresets.cmake
set(body "")
foreach(kind chips models scenarios systems)
  file(GLOB files "${CATALOG}/${kind}/*.textproto")
  list(SORT files)
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
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
    string(APPEND body "    {\"${kind}\", \"${name}\", ${pieces}},\n")
  endforeach()
endforeach()
file(WRITE ${OUTPUT}.new "// Generated from catalog/*/*.textproto.
#include \"catalog/embedded.h\"

namespace orrery {
namespace {
constexpr EmbeddedPreset kPresets[] = {
${body}};
}  // namespace

absl::Span<const EmbeddedPreset> EmbeddedPresets() { return kPresets; }

}  // namespace orrery
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
