// Perfetto's trace processor, its WebAssembly build, in plain Node.
//
//   const processor = new TraceProcessor('trace_processor.wasm');
//   processor.load('run.pftrace');
//   processor.query('select name, dur from slice')  // [['qkv', 1200], ...]
//
// It speaks Perfetto's TraceProcessorRpc (protos/perfetto/trace_processor/
// trace_processor.proto): framed messages through one shared buffer, answers
// through a callback.
import fs from 'node:fs';

import {encode, Reader, valuesOf} from './protobuf.mjs';
import {addCallback, instantiate} from './wasm_host.mjs';

const Method = {APPEND: 1, FINISH: 2, QUERY: 3};
const Field = {
  FRAME: 1, SEQUENCE: 1, REQUEST: 2, FATAL_ERROR: 5,
  APPEND_DATA: 101, QUERY_ARGUMENTS: 103, QUERY_SQL: 1,
  APPEND_RESULT: 201, APPEND_ERROR: 2,
  QUERY_RESULT: 203, QUERY_COLUMN: 1, QUERY_ERROR: 2, QUERY_BATCH: 3,
  FINISH_RESULT: 212, FINISH_ERROR: 1,
};
const Cell = {NULL: 1, INTEGER: 2, REAL: 3, TEXT: 4, BLOB: 5};
const BUFFER_BYTES = 4 << 20;

export class TraceProcessor {
  #exports;
  #buffer;  // where requests are put, in the module's memory
  #received = [];
  #sequence = 0;
  messages = [];

  constructor(wasmPath) {
    const module = new WebAssembly.Module(fs.readFileSync(wasmPath));
    this.#exports = instantiate(module, this.messages);
    const answer = addCallback(this.#exports, (from, size) => {
      const bytes =
          new Uint8Array(this.#exports.memory.buffer, from >>> 0, size >>> 0);
      this.#received.push(Buffer.from(bytes));  // a copy: the memory may move
    });
    this.#buffer =
        this.#exports.trace_processor_rpc_init(answer, BUFFER_BYTES) >>> 0;
  }

  load(path) {
    const bytes = fs.readFileSync(path);
    for (let at = 0; at < bytes.length; at += BUFFER_BYTES) {
      const piece = bytes.subarray(at, at + BUFFER_BYTES);
      this.#refuse(this.#call(Method.APPEND, [Field.APPEND_DATA, piece]),
                   Field.APPEND_RESULT, Field.APPEND_ERROR);
    }
    this.#refuse(this.#call(Method.FINISH), Field.FINISH_RESULT,
                 Field.FINISH_ERROR);
  }

  /** Rows of the last statement: numbers, texts and nulls. */
  query(sql) {
    let columns = 0;
    const cells = [];
    const replies = this.#call(
        Method.QUERY,
        [Field.QUERY_ARGUMENTS, encode([Field.QUERY_SQL, sql])]);
    this.#refuse(replies, Field.QUERY_RESULT, Field.QUERY_ERROR, sql);
    for (const result of replies.flatMap(
             (reply) => valuesOf(reply, Field.QUERY_RESULT))) {
      columns += valuesOf(result, Field.QUERY_COLUMN).length;
      for (const batch of valuesOf(result, Field.QUERY_BATCH)) {
        cells.push(...decodeCells(batch));
      }
    }
    const rows = [];
    for (let at = 0; at < cells.length; at += columns) {
      rows.push(cells.slice(at, at + columns));
    }
    return rows;
  }

  #call(method, ...extra) {
    const request = encode([Field.SEQUENCE, this.#sequence++],
                           [Field.REQUEST, method], ...extra);
    const frame = encode([Field.FRAME, request]);
    this.#received = [];
    for (let at = 0; at < frame.length; at += BUFFER_BYTES) {
      const piece = frame.subarray(at, at + BUFFER_BYTES);
      new Uint8Array(this.#exports.memory.buffer).set(piece, this.#buffer);
      this.#exports.trace_processor_on_rpc_request(piece.length);
    }
    const replies = valuesOf(Buffer.concat(this.#received), Field.FRAME);
    for (const fatal of replies.flatMap(
             (reply) => valuesOf(reply, Field.FATAL_ERROR))) {
      throw new Error(`trace processor: ${fatal}`);
    }
    return replies;
  }

  #refuse(replies, resultField, errorField, context = '') {
    for (const result of replies.flatMap((r) => valuesOf(r, resultField))) {
      for (const error of valuesOf(result, errorField)) {
        if (error.length) throw new Error(`${error}\n${context}`.trim());
      }
    }
  }
}

// A batch holds the types of its cells, then the values type by type.
function decodeCells(batch) {
  const types = [];
  const values = {[Cell.INTEGER]: [], [Cell.REAL]: [], [Cell.TEXT]: [],
                  [Cell.BLOB]: []};
  for (const [field, bytes] of new Reader(batch).fields()) {
    const packed = new Reader(bytes);
    switch (field) {
      case 1:
        while (!packed.done) types.push(Number(packed.varint()));
        break;
      case 2:
        while (!packed.done) {
          values[Cell.INTEGER].push(
              Number(BigInt.asIntN(64, packed.varint())));
        }
        break;
      case 3:
        while (!packed.done) {
          values[Cell.REAL].push(packed.take(8).readDoubleLE(0));
        }
        break;
      case 4: values[Cell.BLOB].push(bytes); break;
      case 5: values[Cell.TEXT].push(...bytes.toString().split('\0')); break;
    }
  }
  return types.map((type) => type === Cell.NULL ? null : values[type].shift());
}
