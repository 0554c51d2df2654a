import * as z from 'zod';
import { badRequest } from '../../../base/errors.ts';
import { threads } from '../../../contract/threads.ts';
import type { PatchOp } from '../../../formats/json-patch/apply.ts';
import { defineTool } from '../tool.ts';
import { stateLink } from '../uris.ts';

export const threadHeader = defineTool({
  name: 'thread_header',
  description: 'The memory of a thread in brief: facts, constraints, questions, next steps, artifacts.',
  input: z.object({ thread_id: z.string() }),
  verb: threads.header,
  doing: 'reading the thread',
  async run({ thread_id }, { relay }) {
    return { text: JSON.stringify(await relay.threads.header(thread_id)), links: [stateLink(thread_id)] };
  },
});

export const threadPatch = defineTool({
  name: 'thread_patch',
  description:
    'Change the memory of a thread by JSON Patch, all or nothing. Lists: /facts {id,key,value}, /constraints {id,description}, /open_questions {id,question}, /decisions {id,description}, /plan {id,step,status}. Append with path /facts/-.',
  input: z.object({
    ops: z.array(z.looseObject({ op: z.string(), path: z.string() })),
    thread_id: z.string().optional().describe('begins a new thread if missing'),
    version: z.string().optional().describe('refuse unless it is still at this one, such as v7'),
  }),
  verb: threads.patch,
  doing: 'changing the thread',
  async run({ ops, thread_id, version }, { relay }) {
    if (ops.length === 0) throw badRequest('"ops" is empty.');
    const id = thread_id ?? (await relay.threads.create()).thread_id;
    const patched = await relay.threads.patch(id, { ops: ops as unknown as PatchOp[], if_match: version });
    return { text: JSON.stringify({ thread_id: id, ...patched }), links: [stateLink(id)] };
  },
});
