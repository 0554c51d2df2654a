/** Generates requests from an OpenAPI document: mostly almost valid, often invalid, deterministic per seed. */

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has no static type here
type Schema = any;

export interface FuzzRequest {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

export class Fuzzer {
  readonly #operations: { method: string; path: string; spec: Schema }[] = [];
  readonly #pool: string[];
  #state: number;

  /** `pool` has existing ids. With only random ids, nearly every request would end with "not found". */
  constructor(document: Schema, seed: number, pool: readonly string[]) {
    this.#state = seed >>> 0;
    this.#pool = [...pool];
    for (const [path, methods] of Object.entries<Schema>(document.paths)) {
      for (const [method, spec] of Object.entries<Schema>(methods)) {
        this.#operations.push({ method: method.toUpperCase(), path, spec });
      }
    }
  }

  learn(id: string): void {
    if (this.#pool.length < 200) this.#pool.push(id);
    else this.#pool[this.#below(200)] = id;
  }

  next(): FuzzRequest {
    const { method, path, spec } = this.#pick(this.#operations);
    const headers: Record<string, string> = {};
    const query = new URLSearchParams();
    let target = path;
    for (const parameter of spec.parameters ?? []) {
      const value = () => this.#text(parameter.schema);
      if (parameter.in === 'path') {
        target = target.replace(`{${parameter.name}}`, () => encodeURIComponent(value()));
      } else if (parameter.in === 'query') {
        if (this.#chance(0.5)) query.append(parameter.name, value());
      } else if (this.#chance(0.3)) {
        headers[parameter.name] = value().replace(/[^\x20-\x7e]/g, '?');
      }
    }
    if (this.#chance(0.1)) query.append(this.#junk(), this.#junk());
    const body = spec.requestBody ? this.#body(spec.requestBody, headers) : undefined;
    if (this.#chance(0.05))
      headers.Range = this.#pick(['bytes=0-1', 'bytes=-5', 'bytes=9-1', 'x', 'bytes=0-99999999999']);
    if (this.#chance(0.05))
      headers.Accept = this.#pick(['text/html', '*/*', 'application/octet-stream', ',;q']);
    const search = query.size > 0 ? `?${query}` : '';
    const prefix = this.#chance(0.2) ? '/v1' : '';
    return {
      operation: spec.operationId,
      method: this.#chance(0.03) ? this.#pick(['PUT', 'PATCH', 'OPTIONS', 'DELETE']) : method,
      path: prefix + target + search,
      headers,
      ...(body === undefined ? {} : { body }),
    };
  }

  #body(spec: Schema, headers: Record<string, string>): string | Uint8Array<ArrayBuffer> | undefined {
    if (this.#chance(0.05)) return undefined;
    const dice = this.#random();
    headers['Content-Type'] =
      dice < 0.85
        ? 'application/json'
        : this.#pick(['text/plain', 'multipart/form-data', '', 'application/json; charset=latin1']);
    if (dice > 0.95) return Uint8Array.from({ length: this.#below(200) }, () => this.#below(256));
    // A body without a JSON schema may have any bytes. Send any JSON value then.
    const schema = spec.content['application/json']?.schema ?? {};
    const text = JSON.stringify(this.#value(schema, 0)) ?? '';
    if (this.#chance(0.05)) return text.slice(0, this.#below(text.length + 1));
    return text;
  }

  #value(schema: Schema, depth: number): unknown {
    if (this.#chance(0.07)) return this.#wild(depth);
    const one = schema.anyOf ?? schema.oneOf;
    if (one) return this.#value(this.#pick(one), depth);
    if (schema.enum) return this.#pick(schema.enum);
    if (schema.const !== undefined) return schema.const;
    switch (schema.type) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return Array.from({ length: this.#below(4) }, () => this.#value(schema.items ?? {}, depth + 1));
      case 'integer':
      case 'number':
        return this.#number(schema);
      case 'boolean':
        return this.#chance(0.5);
      case 'null':
        return null;
      case 'string':
        return this.#text(schema);
      default:
        return this.#wild(depth);
    }
  }

  #object(schema: Schema, depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (const [name, field] of Object.entries<Schema>(schema.properties ?? {})) {
      const probability = (schema.required ?? []).includes(name) ? 0.95 : 0.4;
      if (this.#chance(probability)) object[name] = this.#value(field, depth + 1);
    }
    if (schema.additionalProperties && depth < 4) {
      for (let i = this.#below(3); i > 0; i--) object[this.#junk()] = this.#wild(depth + 1);
    }
    return object;
  }

  #number(schema: Schema): number {
    const { minimum = 0, maximum = 1000 } = schema;
    return this.#pick([
      minimum,
      maximum,
      minimum - 1,
      maximum + 1,
      0,
      -1,
      1.5,
      2 ** 53,
      1e308,
      this.#below(1000),
    ]);
  }

  #text(schema: Schema): string {
    const dice = this.#random();
    if (schema.enum && dice < 0.9) return String(this.#pick(schema.enum));
    if (schema.type === 'integer' || schema.type === 'number') return String(this.#number(schema));
    if (dice < 0.5 && this.#pool.length > 0) return this.#pick(this.#pool);
    if (dice < 0.75)
      return this.#pick(['a', 'work', 'notes', '1', 'v1', 'all', '2026-11', '10-40', '/a/b', 'x.*', 'me']);
    return this.#junk();
  }

  #wild(depth: number): unknown {
    const flat: unknown[] = [null, true, 0, -1, 1e308, '', this.#junk(), [], {}, { __proto__: null }];
    if (depth > 5 || this.#chance(0.7)) return this.#pick(flat);
    return this.#chance(0.5) ? [this.#wild(depth + 1)] : { [this.#junk()]: this.#wild(depth + 1) };
  }

  #junk(): string {
    return this.#pick([
      '',
      ' ',
      '../../etc/passwd',
      '\u0000',
      '\r\nX: y',
      '__proto__',
      'constructor',
      '%00%ff',
      "' OR 1=1 --",
      '<script>alert(1)</script>',
      '(a+)+$',
      '\u202e\u200b',
      '💥'.repeat(1 + this.#below(90)),
      'ü'.repeat(300),
      'x'.repeat(this.#below(3000)),
      '{{7*7}}',
      'NaN',
      '1e309',
      '-0',
      '2026-13-45T99:99:99Z',
    ]);
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)]!;
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n);
  }

  #chance(p: number): boolean {
    return this.#random() < p;
  }

  /** Mulberry32, a small deterministic random generator. */
  #random(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
}
