/** An agent that speaks ACP on stdin and stdout and does what the first word of the task says. */
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';

const stream = ndJsonStream(
  Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
  Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>,
);
const cancelled = new Map<string, () => void>();
let sessions = 0;

agent({ name: 'scripted' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: { loadSession: false },
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: `session-${++sessions}` }))
  .onNotification(methods.agent.session.cancel, ({ params }) => cancelled.get(params.sessionId)?.())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const text = prompt.map((part) => (part.type === 'text' ? part.text : '')).join('');
    const say = (message: string) =>
      client.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: message } },
      });
    const word = text.split(/\s/)[0];
    if (word === 'die') process.exit(3);
    if (word === 'refuse') return { stopReason: 'refusal' };
    if (word === 'hang') {
      await new Promise<void>((resolve) => cancelled.set(sessionId, resolve));
      return { stopReason: 'cancelled' };
    }
    if (word === 'read' || word === 'write') {
      const { outcome } = await client.request(methods.client.session.requestPermission, {
        sessionId,
        toolCall: { toolCallId: 'one', title: `${word} a file`, kind: word === 'read' ? 'read' : 'edit' },
        options: [
          { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
          { optionId: 'no', name: 'Reject', kind: 'reject_once' },
        ],
      });
      await say(`may I ${word}: ${outcome.outcome === 'selected' ? outcome.optionId : 'cancelled'}`);
      return { stopReason: 'end_turn' };
    }
    await say('I think, ');
    await say(`in ${sessionId}.\n=== CC_OUTCOME_START ===\nCOMP`);
    await say(`LETED: ${text.length} characters\nNOT_DONE: nothing\nNOTES: none\n=== CC_OUTCOME_END ===\n`);
    return { stopReason: 'end_turn' };
  })
  .connect(stream);
