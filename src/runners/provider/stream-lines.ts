import { PROVIDER_EVENT_CHARS } from '../../base/limits.ts';

/** The lines of a body as they come, without their ends. */
export async function* streamLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let at = rest.indexOf('\n'); at >= 0; at = rest.indexOf('\n', from)) {
      yield rest.slice(from, rest[at - 1] === '\r' && at > from ? at - 1 : at);
      from = at + 1;
    }
    rest = rest.slice(from);
    if (rest.length > PROVIDER_EVENT_CHARS) throw new Error('it sends a line without an end');
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}

/** The data of server-sent events; an event's name and comments are passed over, since the data repeats the name. */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of streamLines(body)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n');
      data = [];
    } else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
  }
  if (data.length > 0) yield data.join('\n');
}
