import { type McpServer, ResourceTemplate, type ServerEventBus } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { McpExtension } from '../../../src/interfaces/mcp/server.ts';
import { addFixtureRounds, roundState } from './fixture-rounds.ts';
import { addFixtureTools, PIXEL } from './fixture-tools.ts';

/** Tools and resources that the official suite expects. Our server gets them only in tests, through `extend`. */
export function conformanceFixtures(): McpExtension {
  const streams = new Set<ServerEventBus['publish']>();
  const trigger = (server: McpServer, name: string, kind: 'tools_list_changed' | 'prompts_list_changed') =>
    server.registerTool(name, { description: 'a fixture', inputSchema: z.object({}) }, () => {
      for (const publish of streams) publish({ kind });
      return { content: [{ type: 'text', text: kind }] };
    });
  return {
    options: {
      requestState: { verify: roundState.verify },
      jsonSchemaValidator: undefined,
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
      },
    },
    register(server) {
      addFixtureTools(server);
      addFixtureRounds(server);
      addFixtureResources(server);
      addFixturePrompts(server);
      trigger(server, 'test_trigger_tool_change', 'tools_list_changed');
      trigger(server, 'test_trigger_prompt_change', 'prompts_list_changed');
      server.server.setRequestHandler('resources/subscribe', () => ({}));
      server.server.setRequestHandler('resources/unsubscribe', () => ({}));
      server.server.setRequestHandler('logging/setLevel', () => ({}));
      server.server.setRequestHandler('completion/complete', () => ({ completion: { values: [] } }));
    },
    listening(publish) {
      streams.add(publish);
      return () => streams.delete(publish);
    },
  };
}

function addFixtureResources(server: McpServer): void {
  for (const name of ['static-text', 'watched-resource']) {
    const uri = `test://${name}`;
    server.registerResource(name, uri, { mimeType: 'text/plain' }, () => ({
      contents: [{ uri, mimeType: 'text/plain', text: `the text of ${name}` }],
    }));
  }
  const binary = 'test://static-binary';
  server.registerResource('static-binary', binary, { mimeType: 'image/png' }, () => ({
    contents: [{ uri: binary, mimeType: 'image/png', blob: PIXEL }],
  }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource('template', template, { mimeType: 'application/json' }, ({ href }, { id }) => ({
    contents: [{ uri: href, mimeType: 'application/json', text: JSON.stringify({ id }) }],
  }));
}

function addFixturePrompts(server: McpServer): void {
  const text = (value: string) => ({ role: 'user', content: { type: 'text', text: value } }) as const;
  server.registerPrompt('test_simple_prompt', { description: 'a fixture' }, () => ({
    messages: [text('This is a simple prompt for testing.')],
  }));
  server.registerPrompt('test_prompt_with_image', { description: 'a fixture' }, () => ({
    messages: [
      { role: 'user', content: { type: 'image', data: PIXEL, mimeType: 'image/png' } },
      text('Look.'),
    ],
  }));
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'a fixture', argsSchema: z.object({ arg1: z.string(), arg2: z.string() }) },
    ({ arg1, arg2 }) => ({ messages: [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'a fixture', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => {
      const resource = { uri: resourceUri, mimeType: 'text/plain', text: 'embedded' };
      return { messages: [{ role: 'user', content: { type: 'resource', resource } }, text('Read it.')] };
    },
  );
}
