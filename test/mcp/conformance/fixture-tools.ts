import {
  type CallToolResult,
  fromJsonSchema,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

/** A PNG of one pixel and a WAV of one sample. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SAMPLE = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

const nothing = z.object({});

/** Adds the tools that the suite calls by name. Their answers are the ones that the suite expects. */
export function addFixtureTools(server: McpServer): void {
  const content = (name: string, ...parts: CallToolResult['content']) =>
    server.registerTool(name, { description: 'a fixture' }, () => ({ content: parts }));
  const image = { type: 'image', data: PIXEL, mimeType: 'image/png' } as const;
  const resource = (text: string) =>
    ({ type: 'resource', resource: { uri: 'test://fixture', mimeType: 'text/plain', text } }) as const;

  content('test_simple_text', { type: 'text', text: 'This is a simple text response for testing.' });
  content('test_image_content', image);
  content('test_audio_content', { type: 'audio', data: SAMPLE, mimeType: 'audio/wav' });
  content('test_embedded_resource', resource('embedded'));
  content('test_multiple_content_types', { type: 'text', text: 'several' }, image, resource('mixed'));
  content('test_streaming_elicitation', { type: 'text', text: 'no request on this stream' });

  server.registerTool('test_error_handling', { description: 'a fixture' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool('test_tool_with_logging', { description: 'a fixture', inputSchema: nothing }, logs);
  server.registerTool(
    'test_logging_tool',
    { description: 'a fixture', inputSchema: nothing },
    async (_args, ctx) => {
      await ctx.mcpReq.log('info', 'only for those who set a level');
      return { content: [{ type: 'text', text: 'logged' }] };
    },
  );
  server.registerTool(
    'test_tool_with_progress',
    { description: 'a fixture', inputSchema: nothing },
    progresses,
  );
  server.registerTool(
    'test_x_mcp_header',
    {
      description: 'a fixture',
      inputSchema: fromJsonSchema<{ region?: string }>({
        type: 'object',
        properties: { region: MIRRORED, level: { type: 'integer' } },
      }),
    },
    ({ region }) => ({ content: [{ type: 'text', text: `region ${region}` }] }),
  );
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'a fixture', inputSchema: fromJsonSchema(EVERY_KEYWORD) },
    (args) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }),
  );
}

async function logs(_args: unknown, ctx: ServerContext): Promise<CallToolResult> {
  for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    await ctx.mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
  }
  return { content: [{ type: 'text', text: 'logged' }] };
}

async function progresses(_args: unknown, ctx: ServerContext): Promise<CallToolResult> {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
    const params = { progressToken: progressToken!, progress, total: 100 };
    await ctx.mcpReq.notify({ method: 'notifications/progress', params });
  }
  return { content: [{ type: 'text', text: String(progressToken) }] };
}

/** Schema of an argument that clients must repeat in a request header. */
const MIRRORED = { type: 'string', 'x-mcp-header': 'Region' } as const;

/** Input schema of a tool. The list of tools must return it unchanged. */
const EVERY_KEYWORD = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
} as const;
