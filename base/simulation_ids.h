#pragma once
// The ids that the program, the engine and the spans have in common.
//
// They are dense and defined by content: the program builder numbers things by
// what they are (names, members, place in a stream), never by the order in
// which they were added. Two programs with the same content have the same ids.
#include <cstdint>

namespace orrery {

enum class RankId : int32_t {};    // one simulated rank
enum class StreamId : int32_t {};  // one FIFO of a rank; the same for all ranks
enum class RoleId : int32_t {};    // a task-graph template shared by ranks
enum class TaskId : int32_t {};  // a task of a role: stream by stream, in order
enum class SlotId : int32_t {};  // a role's name for "my group of this kind"
enum class GroupId : int32_t {};  // ranks that communicate in the same order
enum class CallId : int32_t {};  // one (group, operation, bytes), however often
enum class NameId : int32_t {};  // an interned name
enum class OpId : int32_t {};    // a distinct op, with its shape

}  // namespace orrery
