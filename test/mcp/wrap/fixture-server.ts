import { createHash } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

/** Returns a text of this many lines with one failure in the middle. */
export function longText(lines: number): string {
  return Array.from({ length: lines }, (_, i) =>
    i === lines / 2 ? 'not ok 1 - Error: the pipe is closed' : `ok ${i} - reads the line number ${i}`,
  ).join('\n');
}

export const digest = (text: string) => createHash('sha256').update(text).digest('hex');

const text = (value: string) => ({ type: 'text' as const, text: value });
const rows = (count: number) =>
  Array.from({ length: count }, (_, id) => ({ id, name: `row number ${id}`, ok: id % 7 !== 0 }));
const IMAGE = { type: 'image' as const, data: 'aGk=', mimeType: 'image/png' };

/** Returns an MCP server whose tools return results of all kinds. It is served over stdio. */
function makeServer(): McpServer {
  const server = new McpServer({ name: 'fixture', version: '1' }, { capabilities: { tools: {} } });
  const inputSchema = z.object({ lines: z.number() });
  server.registerTool('read', { inputSchema }, ({ lines }) => ({
    content: [text(longText(lines)), IMAGE],
    _meta: { kept: 'yes' },
  }));
  server.registerTool('fail', { inputSchema }, ({ lines }) => ({
    content: [text(longText(lines))],
    isError: true,
  }));
  server.registerTool(
    'typed',
    { inputSchema, outputSchema: z.object({ content: z.string() }).strict() },
    ({ lines }) => ({
      content: [text(longText(lines))],
      structuredContent: { content: longText(lines) },
    }),
  );
  server.registerTool(
    'rows',
    {
      inputSchema,
      outputSchema: z.looseObject({
        rows: z.array(z.object({ id: z.number(), name: z.string(), ok: z.boolean() })),
      }),
    },
    ({ lines }) => {
      const structuredContent = { rows: rows(lines) };
      return { content: [text(JSON.stringify(structuredContent))], structuredContent };
    },
  );
  server.registerTool(
    'numbers',
    { inputSchema, outputSchema: z.object({ all: z.array(z.number()).min(50) }).strict() },
    ({ lines }) => {
      const structuredContent = { all: rows(lines).map(({ id }) => id) };
      return { content: [text(JSON.stringify(structuredContent))], structuredContent };
    },
  );
  server.registerTool(
    'digest',
    { inputSchema: z.object({ text: z.string(), short: z.string().max(20).optional() }) },
    (args) => ({ content: [text(JSON.stringify({ ...args, text: digest(args.text) }))] }),
  );
  server.registerTool('quote', { inputSchema: z.object({ text: z.string() }) }, (args) => ({
    content: [text(args.text)],
  }));
  return server;
}

if (process.argv[1] === import.meta.filename) serveStdio(makeServer);
