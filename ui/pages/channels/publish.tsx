import { useState } from 'preact/hooks';
import type { Json } from '../../../src/base/json.ts';
import { encodeUtf8 } from '../../../src/base/utf8.ts';
import { Field, onSubmit, Switch, TextArea } from '../../parts/filters.tsx';
import { Failure } from '../../parts/notices.tsx';
import { useAction } from '../../session/asking.ts';

/** A form that publishes a message: either a small signal, or a payload that it pushes and announces. */
export function Publish({ channel }: { channel: string }) {
  const [kind, setKind] = useState<'signal' | 'payload'>('signal');
  const [text, setText] = useState('');
  const [summary, setSummary] = useState('');
  const [result, setResult] = useState('');
  const sending = useAction(async (relay) => {
    if (kind === 'signal') {
      const { seq } = await relay.channels.publish(channel, signalOf(text));
      setResult(`Sent as message ${seq}.`);
    } else {
      const metadata = summary.trim() ? { summary: summary.trim() } : undefined;
      const { id } = await relay.pointers.push({
        body: encodeUtf8(text),
        channel,
        metadata,
        content_type: 'text/plain',
      });
      setResult(`Pushed as ${id}.`);
    }
    setText('');
  });
  return (
    <form
      class="form"
      onSubmit={onSubmit(() => {
        setResult('');
        return sending.run();
      })}
    >
      <Switch
        label="What to send"
        value={kind}
        set={setKind}
        options={{ signal: 'Signal', payload: 'Payload' }}
      />
      <TextArea
        label={kind === 'signal' ? 'Text or JSON' : 'Payload'}
        class="mono"
        value={text}
        set={setText}
      />
      {kind === 'payload' && (
        <Field label="Summary (helps readers decide whether to pull it)" value={summary} set={setSummary} />
      )}
      <div class="bar">
        <button type="submit" class="button solid" disabled={sending.busy || text === ''}>
          Send
        </button>
        <span role="status" class="ok-text">
          {result}
        </span>
      </div>
      <Failure error={sending.error} />
    </form>
  );
}

/** Parses a text as JSON. Returns the text itself if it is not JSON. */
function signalOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
