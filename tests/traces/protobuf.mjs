// Just enough of Protocol Buffers to talk to the trace processor.

const utf8 = new TextEncoder();

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return bytes;
}

/**
 * A message from [field number, value] pairs; a value is a number or bytes, text
 * counting as bytes.
 */
export function encode(...fields) {
  const parts = [];
  for (const [number, value] of fields) {
    if (typeof value === 'number') {
      parts.push(Buffer.from([...varint(number << 3), ...varint(value)]));
    } else {
      const bytes = typeof value === 'string' ? utf8.encode(value) : value;
      parts.push(
          Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length)]),
          bytes);
    }
  }
  return Buffer.concat(parts);
}

/** Reads varints, fixed words and byte strings off a buffer. */
export class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  get done() {
    return this.at >= this.bytes.length;
  }

  /** An unsigned 64-bit integer. */
  varint() {
    let value = 0n;
    for (let shift = 0n;; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new RangeError('the message ends early');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  take(size) {
    this.at += size;
    if (this.at > this.bytes.length) throw new RangeError('it ends early');
    return this.bytes.subarray(this.at - size, this.at);
  }

  /** The fields of a message: [number, BigInt or bytes]. */
  * fields() {
    while (!this.done) {
      const tag = Number(this.varint());
      const number = tag >>> 3;
      switch (tag & 7) {
        case 0: yield [number, this.varint()]; break;
        case 1: yield [number, this.take(8)]; break;
        case 2: yield [number, this.take(Number(this.varint()))]; break;
        case 5: yield [number, this.take(4)]; break;
        default: throw new Error(`wire type ${tag & 7}`);
      }
    }
  }
}

/** The values of one field of a message, in order. */
export function valuesOf(message, number) {
  return [...new Reader(message).fields()]
      .filter(([field]) => field === number)
      .map(([, value]) => value);
}
