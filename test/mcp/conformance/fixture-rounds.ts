import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

type Outcome = CallToolResult | InputRequiredResult;
type State = Record<string, unknown>;

/** Signs the state that the client sends back in the next round, so that the client cannot change it. */
export const roundState = createRequestStateCodec<State>({ key: crypto.getRandomValues(new Uint8Array(32)) });

const elicit = (message: string, field: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: { [field]: field === 'ok' ? { type: 'boolean' } : { type: 'string' } },
      required: [field],
    },
  });
const sample = (text: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text } }],
    maxTokens: 50,
  });
const say = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });
const answered = (ctx: ServerContext, key: string): State | undefined =>
  acceptedContent(ctx.mcpReq.inputResponses, key);
const response = (ctx: ServerContext, key: string) => ctx.mcpReq.inputResponses?.[key] as State | undefined;

/** Adds tools that answer a call with a question to the client, as the 2026 revision allows. The suite calls them. */
export function addFixtureRounds(server: McpServer): void {
  const tool = (name: string, run: (ctx: ServerContext) => Promise<Outcome> | Outcome) =>
    server.registerTool(name, { description: 'a fixture', inputSchema: z.object({}) }, (_args, ctx) =>
      run(ctx),
    );
  const ask = (inputRequests: InputRequests) => inputRequired({ inputRequests });
  const askSealed = async (inputRequests: InputRequests, state: State) =>
    inputRequired({
      inputRequests,
      requestState: await roundState.mint({ ...state, nonce: crypto.randomUUID() }),
    });

  tool('test_missing_capability', (ctx) =>
    response(ctx, 'llm_answer') ? say('done') : ask({ llm_answer: sample('Say pong') }),
  );
  tool('test_input_required_result_elicitation', (ctx) => {
    const name = answered(ctx, 'user_name')?.name;
    return typeof name === 'string'
      ? say(`Hello, ${name}!`)
      : ask({ user_name: elicit('What is your name?', 'name') });
  });
  tool('test_input_required_result_sampling', (ctx) => {
    const answer = response(ctx, 'capital_question');
    return answer
      ? say(JSON.stringify(answer))
      : ask({ capital_question: sample('What is the capital of France?') });
  });
  tool('test_input_required_result_list_roots', (ctx) => {
    const answer = response(ctx, 'client_roots');
    return answer?.roots
      ? say(JSON.stringify(answer.roots))
      : ask({ client_roots: inputRequired.listRoots() });
  });
  for (const name of ['request_state', 'tampered_state']) {
    tool(`test_input_required_result_${name}`, (ctx) => {
      const sealed = ctx.mcpReq.requestState<State>();
      if (answered(ctx, 'confirm') && sealed) return say('state-ok: what came back is what was sent');
      return askSealed({ confirm: elicit('Please confirm', 'ok') }, { tool: name });
    });
  }
  tool('test_input_required_result_multiple_inputs', (ctx) => {
    const name = answered(ctx, 'user_name')?.name;
    const all = name && response(ctx, 'greeting') && response(ctx, 'client_roots')?.roots;
    if (all) return say(`all three came, from ${name}`);
    const requests = {
      user_name: elicit('What is your name?', 'name'),
      greeting: sample('Generate a greeting'),
      client_roots: inputRequired.listRoots(),
    };
    return askSealed(requests, { tool: 'multiple_inputs' });
  });
  tool('test_input_required_result_multi_round', (ctx) => {
    const { round = 0, name } = ctx.mcpReq.requestState<State>() ?? {};
    if (round === 0) return askSealed({ step1: elicit('Step 1: What is your name?', 'name') }, { round: 1 });
    if (round === 1) {
      const state = { round: 2, name: answered(ctx, 'step1')?.name ?? 'unknown' };
      return askSealed({ step2: elicit('Step 2: What is your favorite color?', 'color') }, state);
    }
    return say(`${name} likes ${answered(ctx, 'step2')?.color}`);
  });
  tool('test_input_required_result_capabilities', (ctx) => {
    if (ctx.mcpReq.inputResponses) return say('done');
    const declared = (ctx.mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY as never] ?? {}) as State;
    const requests: InputRequests = {
      ...(declared.elicitation ? { user_name: elicit('What is your name?', 'name') } : {}),
      ...(declared.sampling ? { greeting: sample('Generate a greeting') } : {}),
      ...(declared.roots ? { client_roots: inputRequired.listRoots() } : {}),
    };
    return Object.keys(requests).length > 0 ? ask(requests) : say('nothing to ask for');
  });
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'a fixture' },
    // The SDK passes the context as first parameter if a prompt has no arguments. Its types are wrong about this.
    ((ctx: ServerContext) => {
      const context = answered(ctx, 'user_context')?.context;
      if (typeof context !== 'string') return ask({ user_context: elicit('What context?', 'context') });
      return { messages: [{ role: 'user', content: { type: 'text', text: context } }] };
    }) as never,
  );
}
