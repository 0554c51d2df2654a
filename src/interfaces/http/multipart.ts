import { RelayError } from '../../base/errors.ts';

export interface Form {
  /** The one file of the form; null where there is none. */
  readonly file: FormFile | null;
  /** The other fields; those behind the file are there once it has been read. */
  readonly fields: ReadonlyMap<string, string>;
}

export interface FormFile {
  readonly name: string | null;
  readonly mime: string | null;
  readonly body: ReadableStream<Uint8Array>;
}

const HEADER_BYTES = 8 * 1024;
const HEADER_END = new TextEncoder().encode('\r\n\r\n');
const FIELD_BYTES = 64 * 1024;
const FIELDS = 32;

/** Reads a form with at most one file (RFC 7578) as it comes in; the file is never held whole. */
export async function readForm(source: ReadableStream<Uint8Array>, contentType: string): Promise<Form> {
  const boundary = /boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(contentType);
  if (!boundary) throw bad('its Content-Type has no boundary');
  const parts = new PartReader(source, boundary[1] ?? boundary[2]!);
  const fields = new Map<string, string>();
  const file = await nextFile(parts, fields);
  if (!file) return { file: null, fields };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = await parts.read();
      if (chunk) {
        controller.enqueue(chunk);
        return;
      }
      if (await nextFile(parts, fields)) throw bad('it has more than one file');
      controller.close();
    },
    cancel: (reason) => parts.cancel(reason),
  });
  return { file: { ...file, body }, fields };
}

/** Takes in fields up to the next file, whose head it gives. */
async function nextFile(
  parts: PartReader,
  fields: Map<string, string>,
): Promise<{ name: string | null; mime: string | null } | null> {
  for (;;) {
    const head = await parts.next();
    if (head === null) return null;
    const disposition = /^content-disposition:\s*form-data\s*;(.*)$/im.exec(head)?.[1];
    const name = disposition && parameter(disposition, 'name');
    if (!disposition || name === undefined) throw bad('a part has no name');
    const filename = parameter(disposition, 'filename');
    const mime = /^content-type:\s*(\S[^\r\n]*)$/im.exec(head)?.[1]?.trim() ?? null;
    if (filename !== undefined || name === 'file') return { name: filename ?? null, mime };
    if (fields.size === FIELDS) throw bad('it has too many fields');
    fields.set(name, await wholeField(parts, name));
  }
}

async function wholeField(parts: PartReader, name: string): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let size = 0;
  try {
    for (let chunk = await parts.read(); chunk; chunk = await parts.read()) {
      size += chunk.length;
      if (size > FIELD_BYTES) throw bad(`its field "${name.slice(0, 40)}" is too long`);
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    throw error instanceof TypeError ? bad(`its field "${name.slice(0, 40)}" is not UTF-8`) : error;
  }
}

function parameter(header: string, name: string): string | undefined {
  const match = new RegExp(`(?:^|[;\\s])${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]+))`, 'i').exec(header);
  const value = match?.[1] ?? match?.[2];
  // Browsers percent-encode quotes and line ends in names, and nothing else.
  return value?.replace(/%22|%0D|%0A/gi, (code) => decodeURIComponent(code)).replace(/\\(.)/g, '$1');
}

/** Cuts a body into its parts. */
class PartReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #delimiter: Uint8Array;
  #buffer: Uint8Array = new TextEncoder().encode('\r\n');
  #inPart = true;
  #ended = false;

  constructor(source: ReadableStream<Uint8Array>, boundary: string) {
    this.#reader = source.getReader();
    this.#delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
  }

  /** The head of the next part, once the one before has been read; null behind the last. */
  async next(): Promise<string | null> {
    while (await this.read()) {
      // What stands in front of the first part, or was not read of the last, is nobody's.
    }
    while (this.#buffer.length < 2) await this.#more();
    if (this.#buffer[0] === 0x2d && this.#buffer[1] === 0x2d) return null;
    for (;;) {
      const at = find(this.#buffer, HEADER_END);
      if (at >= 0) {
        const head = new TextDecoder().decode(this.#buffer.subarray(0, at));
        // The line end that closes the head also opens the delimiter of a part with nothing in it.
        this.#buffer = this.#buffer.subarray(at + 4);
        this.#inPart = true;
        return head.trimStart();
      }
      if (this.#buffer.length > HEADER_BYTES) throw bad('the head of a part is too long');
      await this.#more();
    }
  }

  /** More of the part; null at its end. */
  async read(): Promise<Uint8Array | null> {
    if (!this.#inPart) return null;
    for (;;) {
      const at = find(this.#buffer, this.#delimiter);
      if (at === 0) {
        this.#buffer = this.#buffer.subarray(this.#delimiter.length);
        this.#inPart = false;
        return null;
      }
      const safe = at > 0 ? at : this.#buffer.length - this.#delimiter.length + 1;
      if (safe > 0) {
        const chunk = this.#buffer.slice(0, safe);
        this.#buffer = this.#buffer.subarray(safe);
        return chunk;
      }
      await this.#more();
    }
  }

  cancel(reason: unknown): Promise<void> {
    return this.#reader.cancel(reason);
  }

  async #more(): Promise<void> {
    if (this.#ended) throw bad('it ends early');
    const { done, value } = await this.#reader.read();
    if (done) {
      this.#ended = true;
      return;
    }
    const joined = new Uint8Array(this.#buffer.length + value.length);
    joined.set(this.#buffer);
    joined.set(value, this.#buffer.length);
    this.#buffer = joined;
  }
}

function find(bytes: Uint8Array, wanted: Uint8Array): number {
  const first = wanted[0]!;
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (at + wanted.length > bytes.length) return -1;
    let i = 1;
    while (i < wanted.length && bytes[at + i] === wanted[i]) i++;
    if (i === wanted.length) return at;
  }
  return -1;
}

function bad(what: string): RelayError {
  return new RelayError('bad_request', { what: `The form cannot be read: ${what}.` });
}
