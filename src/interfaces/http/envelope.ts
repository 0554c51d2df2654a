import { toBase64 } from '../../base/base64.ts';
import type { Pulled } from '../../contract/pointers.ts';

/** `{"data": …, "metadata": …}`, as existing clients expect it, written without ever holding a large payload whole. */
export function envelope(pulled: Pulled): string | ReadableStream<Uint8Array> {
  const {
    body,
    about: { text, metadata },
  } = pulled;
  const tail = `,"metadata":${JSON.stringify(metadata)}${text ? '' : ',"encoding":"base64"'}}`;
  if (body instanceof Uint8Array) {
    const data = text ? JSON.stringify(decode(body)) : `"${toBase64(body)}"`;
    return `{"data":${data}${tail}`;
  }
  return body.pipeThrough(wrap('{"data":"', text ? escaper() : base64(), `"${tail}`));
}

interface Encoder {
  chunk(bytes: Uint8Array): string;
  end(): string;
}

function wrap(head: string, encoder: Encoder, tail: string): TransformStream<Uint8Array, Uint8Array> {
  const utf8 = new TextEncoder();
  return new TransformStream({
    start: (controller) => controller.enqueue(utf8.encode(head)),
    transform: (bytes, controller) => controller.enqueue(utf8.encode(encoder.chunk(bytes))),
    flush: (controller) => controller.enqueue(utf8.encode(encoder.end() + tail)),
  });
}

/** The decoder holds back a character that a chunk cuts in two, so each piece can be escaped by itself. */
function escaper(): Encoder {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
  return {
    chunk: (bytes) => escaped(decoder.decode(bytes, { stream: true })),
    end: () => escaped(decoder.decode()),
  };
}

/** Three bytes make four characters; what does not fill three waits for the next chunk. */
function base64(): Encoder {
  let left = new Uint8Array(0);
  return {
    chunk: (bytes) => {
      const all = new Uint8Array(left.length + bytes.length);
      all.set(left);
      all.set(bytes, left.length);
      const whole = all.length - (all.length % 3);
      left = all.slice(whole);
      return toBase64(all.subarray(0, whole));
    },
    end: () => toBase64(left),
  };
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
