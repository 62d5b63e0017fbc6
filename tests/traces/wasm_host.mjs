// The system calls of a WebAssembly build of Perfetto's trace processor, as far
// as it needs any: memory, the clock, messages. There is no file system; what
// asks for one hears that there is none.

const NOT_IMPLEMENTED = 52;  // ENOSYS in wasi
const PAGE = 64 << 10;
const LARGEST_MEMORY = 0xffff0000;

/** Loads a module and runs its constructors. `messages` gets what it prints. */
export function instantiate(module, messages) {
  let memory = null;
  const view = () => new DataView(memory.buffer);
  const text = (from, size) => {
    const bytes = new Uint8Array(memory.buffer, from >>> 0);
    return Buffer.from(bytes.slice(0, size ?? bytes.indexOf(0))).toString();
  };
  const stop = (why) => {
    throw new Error(`the trace processor stopped: ${why}\n` +
                    messages.slice(-10).join('\n'));
  };
  const services = {
    emscripten_get_now: () => performance.now(),
    emscripten_date_now: () => Date.now(),
    clock_time_get(clock, precision, result) {
      view().setBigUint64(result >>> 0, BigInt(Date.now()) * 1_000_000n, true);
      return 0;
    },
    environ_sizes_get(count, bytes) {
      view().setUint32(count >>> 0, 0, true);
      view().setUint32(bytes >>> 0, 0, true);
      return 0;
    },
    emscripten_get_heap_max: () => LARGEST_MEMORY,
    emscripten_resize_heap(wanted) {
      const now = memory.buffer.byteLength;
      // A quarter more than needed, so that this does not happen often.
      const goal = Math.min(LARGEST_MEMORY, Math.max(wanted >>> 0, now * 1.25));
      try {
        memory.grow(Math.ceil((goal - now) / PAGE));
        return 1;
      } catch {
        return 0;
      }
    },
    fd_write(descriptor, pieces, count, result) {
      let total = 0;
      for (let i = 0; i < count; ++i) {
        const at = (pieces >>> 0) + 8 * i;
        const size = view().getUint32(at + 4, true);
        messages.push(text(view().getUint32(at, true), size).trimEnd());
        total += size;
      }
      view().setUint32(result >>> 0, total, true);
      return 0;
    },
    emscripten_err: (from) => void messages.push(text(from)),
    emscripten_errn: (from, size) => void messages.push(text(from, size)),
    exit: (code) => stop(`exit code ${code}`),
    proc_exit: (code) => stop(`exit code ${code}`),
    _abort_js: () => stop('abort'),
    __assert_fail: (condition) => stop(`assertion ${text(condition)}`),
    __cxa_throw: () => stop('an exception'),
  };
  const imports = {};
  for (const {module: space, name} of WebAssembly.Module.imports(module)) {
    const refuse = /^(fd_|path_)/.test(name) ? () => NOT_IMPLEMENTED :
        name.startsWith('__syscall') ? () => -NOT_IMPLEMENTED : () => 0;
    (imports[space] ??= {})[name] = services[name] ?? refuse;
  }
  const {exports} = new WebAssembly.Instance(module, imports);
  memory = exports.memory;
  exports.emscripten_stack_init?.();
  exports.__wasm_call_ctors();
  return exports;
}

/**
 * A place in the module's function table that calls `callback` with two
 * integers. Tables hold WebAssembly functions only, so a module of one import
 * that exports it again lends its type.
 */
export function addCallback(exports, callback) {
  const section = (id, ...content) => [id, content.length, ...content];
  const name = (letter) => [1, letter.charCodeAt(0)];
  const I32 = 0x7f, FUNCTION_TYPE = 0x60, FUNCTION = 0;
  const wrapper = new WebAssembly.Module(Uint8Array.from([
    ...Buffer.from('\0asm'), 1, 0, 0, 0,
    ...section(1, 1, FUNCTION_TYPE, 2, I32, I32, 0),
    ...section(2, 1, ...name('h'), ...name('f'), FUNCTION, 0),
    ...section(7, 1, ...name('f'), FUNCTION, 0),
  ]));
  const wrapped = new WebAssembly.Instance(wrapper, {h: {f: callback}});
  const table = exports.__indirect_function_table;
  const place = table.grow(1);
  table.set(place, wrapped.exports.f);
  return place;
}
