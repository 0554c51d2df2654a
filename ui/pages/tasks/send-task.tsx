import { useState } from 'preact/hooks';
import { encodeUtf8 } from '../../../src/base/utf8.ts';
import type { Agent } from '../../../src/contract/agents.ts';
import { DONE_CHANNEL, directChannel, PIPELINE_RUNNER, TASK_CHANNEL } from '../../../src/contract/tasks.ts';
import { navigate, to } from '../../frame/router.ts';
import { Field, onSubmit, Select, TextArea } from '../../parts/filters.tsx';
import { Failure } from '../../parts/notices.tsx';
import { useAction } from '../../session/asking.ts';

/** Sends a task to any free agent or to one agent, then opens the task's page. */
export function SendTask({ agents }: { agents: readonly Agent[] }) {
  const bridges = agents.filter(({ bridge }) => bridge && bridge.runner !== PIPELINE_RUNNER);
  const [text, setText] = useState('');
  const [summary, setSummary] = useState('');
  const [agent, setAgent] = useState('');
  const sending = useAction(async (relay) => {
    const bridge = bridges.find(({ name }) => name === agent)?.bridge;
    const task = bridge?.task_channel ?? TASK_CHANNEL;
    const { id } = await relay.pointers.push({
      body: encodeUtf8(text),
      content_type: 'text/plain',
      channel: agent === '' ? task : directChannel(task, agent),
      metadata: {
        done_channel: bridge?.done_channel ?? DONE_CHANNEL,
        summary: summary.trim() || text.trim().split('\n')[0]!.slice(0, 200),
      },
    });
    navigate(to('tasks', id));
  });
  return (
    <form class="form" onSubmit={onSubmit(() => sending.run())}>
      <TextArea label="Task" rows={6} value={text} set={setText} />
      <div class="form-row">
        <Field
          label="Summary (shown in lists)"
          value={summary}
          placeholder="first line of the task"
          set={setSummary}
        />
        <Select
          label="Agent"
          value={agent}
          set={setAgent}
          options={[
            ['', 'any free agent'],
            ...bridges.map(({ name, alive }) => [name, alive ? name : `${name} (silent)`] as const),
          ]}
        />
      </div>
      {bridges.length === 0 && <p class="soft">No bridge is running. The task waits until one takes it.</p>}
      <div>
        <button type="submit" class="button solid" disabled={sending.busy || text.trim() === ''}>
          Send task
        </button>
      </div>
      <Failure error={sending.error} />
    </form>
  );
}
