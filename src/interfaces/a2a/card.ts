import { A2A_PROTOCOL_VERSION, type AgentCard } from '@a2a-js/sdk';
import { duplicateInterfacesForLegacy } from '@a2a-js/sdk/compat/v0_3';
import { RelayError } from '../../base/errors.ts';
import { ENVELOPE_PAYLOAD_BYTES } from '../../base/limits.ts';
import type { Relay } from '../../contract/relay.ts';
import { directChannel } from '../../contract/tasks.ts';

/** An agent that accepts tasks through this relay. */
export interface AgentEntry {
  readonly name: string;
  readonly description: string;
  /** Channel on which the agent gets its tasks. */
  readonly task_channel: string;
  /** Channel on which the agent announces its results. */
  readonly done_channel: string;
}

/** The relay itself as an agent: any free bridge takes its tasks. */
export const RELAY_AGENT: AgentEntry = {
  name: 'relay',
  description: 'Passes tasks to the coding agents connected to this relay and returns their results.',
  task_channel: 'agent-tasks',
  done_channel: 'agent-done',
};

/**
 * Returns the agent with this name: the relay itself or a running bridge. Throws `not_found` if there is
 * none.
 */
export async function findAgent(name: string, relay: () => Promise<Relay>): Promise<AgentEntry> {
  if (name === RELAY_AGENT.name) return RELAY_AGENT;
  const { agents } = await (await relay()).agents.list();
  const bridge = agents.find((agent) => agent.name === name && agent.alive && agent.bridge)?.bridge;
  if (!bridge) {
    throw new RelayError('not_found', {
      what: `the agent "${name.slice(0, 100)}"`,
      hint: 'Start a bridge with this name: relay bridge start --name NAME. To list all agents: relay agents',
    });
  }
  return {
    name,
    description: `The agent that the bridge "${name}" (${bridge.runner}) of this relay runs.`,
    task_channel: directChannel(bridge.task_channel, name),
    done_channel: bridge.done_channel,
  };
}

/** URI of our A2A extension, with which large parts are sent as pointers. */
const POINTER_EXTENSION = 'https://contextrelay.dev/a2a/pointers/v1';

interface CardOptions {
  readonly version: string;
  /** The URL of the relay, such as `https://relay.example`. */
  readonly base: string;
  /** True if callers need an API key. */
  readonly keys: boolean;
}

/** Builds the agent card. It does not depend on the caller. */
export function agentCard(agent: AgentEntry, o: CardOptions): AgentCard {
  const url = `${o.base}/a2a/${encodeURIComponent(agent.name)}`;
  const bindings = ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({
    url,
    protocolBinding,
    tenant: '',
    protocolVersion: A2A_PROTOCOL_VERSION,
  }));
  const bearer = { description: 'An API key of this relay', scheme: 'Bearer', bearerFormat: 'cr_live_…' };
  return {
    name: agent.name === RELAY_AGENT.name ? 'ContextRelay' : agent.name,
    description: agent.description,
    supportedInterfaces: duplicateInterfacesForLegacy(bindings, ['JSONRPC']),
    provider: undefined,
    version: o.version,
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: false,
      extensions: [
        {
          uri: POINTER_EXTENSION,
          description:
            'Parts larger than max_inline_bytes are sent as a URL. GET returns the bytes. metadata.pointer is the pointer itself.',
          required: false,
          params: { max_inline_bytes: ENVELOPE_PAYLOAD_BYTES },
        },
      ],
    },
    securitySchemes: o.keys ? { key: { scheme: { $case: 'httpAuthSecurityScheme', value: bearer } } } : {},
    securityRequirements: o.keys ? [{ schemes: { key: { list: [] } } }] : [],
    defaultInputModes: ['text/plain', 'text/markdown', 'application/json', 'application/octet-stream'],
    defaultOutputModes: ['text/plain', 'text/markdown', 'application/octet-stream'],
    skills: [
      {
        id: 'task',
        name: 'Do a task',
        description: 'Accepts a task as text with optional files, and returns the result.',
        tags: ['coding', 'delegation'],
        examples: ['Add a test for the empty cart and make it pass.'],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
  };
}
