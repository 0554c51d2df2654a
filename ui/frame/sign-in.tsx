import { useState } from 'preact/hooks';
import { isRelayError, RelayError } from '../../src/base/errors.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { Command } from '../parts/copy-button.tsx';
import { Field, onSubmit } from '../parts/filters.tsx';
import { Failure } from '../parts/notices.tsx';
import { useTitle } from '../parts/page-head.tsx';
import { useAction } from '../session/asking.ts';
import { signIn } from '../session/session.ts';

/** Error for a wrong key. Its hint replaces the relay's hint, which is for developers. */
const WRONG_KEY = new RelayError('unauthorized', {
  hint: 'It may be mistyped, revoked, expired, or from another relay.',
});

/** The form for an API key. Tests the key before it is used. */
export function SignIn({ byLink }: { byLink: boolean }) {
  useTitle('Sign in');
  const [key, setKey] = useState('');
  const [keep, setKeep] = useState(true);
  const checking = useAction(async () => {
    const apiKey = key.trim();
    await httpRelay({ baseUrl: location.origin, apiKey, retries: 1, timeout: 15_000 }).keys.self();
    signIn(apiKey, keep);
  });
  const { error, busy } = checking;
  return (
    <section class="sign-in">
      <h1>Sign in</h1>
      <p class="soft">
        {byLink
          ? 'This pointer may be private. Sign in with an API key of its tenant.'
          : 'This relay requires an API key.'}
      </p>
      <form onSubmit={onSubmit(() => checking.run())}>
        <Field
          label="API key"
          type="password"
          class="mono"
          autocomplete="off"
          spellcheck={false}
          placeholder="cr_live_…"
          required
          value={key}
          set={setKey}
        />
        <label class="check">
          <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
          <span>Stay signed in when this tab is reloaded</span>
        </label>
        <button type="submit" class="button solid" disabled={busy || key.trim() === ''}>
          {busy ? 'Checking…' : 'Sign in'}
        </button>
      </form>
      {error !== undefined && <Failure error={isRelayError(error, 'unauthorized') ? WRONG_KEY : error} />}
      <Command
        about="No key yet? Create one on the machine that runs the relay:"
        line="relay keys create dashboard --scopes push,pull,subscribe,threads,files,tasks,admin"
      />
    </section>
  );
}
