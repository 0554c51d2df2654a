import { type Group, group, noun, type Sections, verbs } from './command.ts';

/**
 * Every command, at the words it is called by and with its one summary, as `relay --help` groups them. A command's own file
 * is loaded only when it is called or its help is asked for: importing them all would take longer than a peek.
 */
export const SECTIONS: Sections = {
  'Hand over': verbs(() => import('./commands/pointer.ts'), {
    push: 'Store a payload and get a pointer to it',
    pull: 'Get a payload back, or only a part of it',
    peek: 'Look at the metadata without touching the payload',
    rm: 'Revoke pointers at once',
  }),
  Channels: {
    ...verbs(() => import('./commands/messages.ts'), {
      watch: 'Show the messages of a channel as they come',
      publish: 'Send a signal to a channel, without a payload',
      channels: 'List the channels there are',
    }),
    channel: group('One channel: its groups and its key', {
      ...verbs(() => import('./commands/channel.ts'), {
        inspect: 'Show a channel and its groups: backlog, members, leases',
        'forget-group': 'Forget a group and whatever it had not done',
        group: 'Show or choose how long failed work of a group waits',
      }),
      dead: noun('Dead letters: work that a group could not do', () => import('./commands/dead-letters.ts'), {
        list: 'List the dead letters of a channel',
        retry: 'Hand dead letters out again, to the group that could not do them',
        drop: 'Take dead letters from the list',
      }),
      key: noun(
        'Keys shared with others on a channel, for encrypted pushes',
        () => import('./commands/channel-key.ts'),
        {
          new: 'Make a key for a channel, to be shared with those who read it',
          add: "Take a channel's key that someone gave you",
          show: 'Print the key of a channel',
          list: 'List the channels there is a key for',
          rm: 'Throw away the key of a channel',
        },
      ),
    }),
    ...verbs(() => import('./commands/inbox.ts'), {
      follow: 'Have the messages of a channel kept for a named agent',
      unfollow: 'Stop following a channel',
      inbox: 'Show what a named agent has not read yet',
    }),
    ...verbs(() => import('./commands/pointer.ts'), {
      receipts: 'Show who was told of a pointer, pulled it, did it',
    }),
  },
  Threads: {
    ...verbs(() => import('./commands/store.ts'), { init: 'Make the configuration and the storage' }),
    thread: noun(
      'Threads: versioned state, artifacts and events in one place',
      () => import('./commands/thread.ts'),
      {
        new: 'Begin a thread and print its id',
        use: 'Choose the thread that is meant where none is named',
        list: 'List recent threads, newest first; the same as relay runs',
        rm: 'Delete threads with everything in them',
      },
    ),
    ...verbs(() => import('./commands/thread.ts'), {
      runs: 'List recent threads, newest first',
      show: 'Show what a thread is about and where it stands',
      tail: 'Show the events of a thread, also as they happen',
    }),
    state: noun(
      "A thread's memory: facts, decisions, plan, changed by JSON Patch",
      () => import('./commands/state.ts'),
      {
        header: 'Print the bounded view of a state that goes into a prompt',
        get: 'Print the whole state, or a place of it, as it is or was',
        patch: 'Change the state by JSON Patch, whole or not at all',
        diff: 'Show what changed between two versions of a state',
        revert: 'Go back to an earlier version, as a new one',
        log: 'List the versions of a state, newest first',
        compact: 'Shorten a state that has grown long',
      },
    ),
    artifact: noun(
      'Stored content of a thread: a ref and a preview travel, the rest is a pull away',
      () => import('./commands/artifact.ts'),
      {
        put: 'Store a file in a thread and get a ref to it',
        get: 'Get the content of an artifact back',
        list: 'List the artifacts of a thread, newest first',
        search: 'Search the artifacts of a thread, best first',
        rm: 'Delete an artifact for good; its hash stays',
      },
    ),
    cap: noun('Capabilities: what a thread can have done, with a cache', () => import('./commands/cap.ts'), {
      list: 'List what a thread can have done, and what each takes',
      invoke: 'Have a capability do something for a thread',
    }),
    ...verbs(() => import('./commands/thread.ts'), {
      report: 'Tell a thread in one document',
      stats: 'Show what a thread has saved in tokens, counted',
      export: 'Write a whole thread into one file',
      import: 'Take in a thread that was exported, or the threads of a Go relay',
      replay: 'Fold the events of a thread again and compare with its state',
    }),
  },
  Files: {
    file: noun(
      'Files under a space: overwritten and deleted at will, with their versions',
      () => import('./commands/file.ts'),
      {
        put: 'Write a file',
        get: 'Read a file, or only a part of it',
        ls: 'List spaces, and the files in one',
        log: 'List the versions of a file, newest first',
        rm: 'Delete files with all their versions',
      },
    ),
  },
  Projects: {
    project: noun(
      'Project files: where a project stands, for sessions that remember nothing',
      () => import('./commands/project.ts'),
      {
        init: 'Write PROJECT.md, state.json, todos.json and decisions.md',
        start: 'The cold start: one bounded brief of where the project stands',
        sync: 'The end of a session: write down where things stand',
        check: 'Check the project files, and that no decision was rewritten',
        merge: 'Resolve the conflicts that git left in the project files',
        handoff: 'Give a task to a sub-agent, through state.json',
        report: 'Report the result of a task that was handed off, as the sub-agent',
        result: 'Read what a sub-agent reported',
      },
    ),
    todo: noun('The todos of a project', () => import('./commands/todo.ts'), {
      add: 'Add a todo',
      start: 'Start a todo, or take it up again',
      done: 'Complete a todo',
      block: 'Mark a todo as blocked, with the reason',
      list: 'List the todos: in progress, blocked, then next by priority',
      review: 'Go through all open todos and note that it was done',
    }),
    ...verbs(() => import('./commands/project.ts'), {
      decide: 'Record a decision: append it to decisions.md',
    }),
    ...verbs(() => import('./commands/handoff.ts'), {
      handoff: 'Hand the work over to another agent, with a bounded brief',
    }),
    ...verbs(() => import('./commands/install.ts'), {
      install: 'Set up a coding agent: skill, hooks and MCP entry',
    }),
    ...verbs(
      () => import('./commands/hook.ts'),
      { hook: 'What a coding agent calls by itself; relay install sets it up' },
      { hidden: true },
    ),
  },
  Agents: {
    ...verbs(() => import('./commands/prompt.ts'), {
      run: 'Ask a model something, with the memory of a thread',
    }),
    wrap: noun('Ask any program something, with the memory of a thread', () => import('./commands/wrap.ts'), {
      run: 'Ask any program something, with the memory of a thread',
      list: 'List the programs that are known, and which are here',
    }),
    pipeline: noun(
      'Pipelines: steps of several agents, in parallel where they can be',
      () => import('./commands/pipeline.ts'),
      {
        run: 'Run a pipeline, or go on with a run',
        validate: 'Check a pipeline, and name the lines that are wrong',
        graph: 'Draw a pipeline or a run of one',
        list: 'List the runs there were',
        show: 'Show what became of a run',
      },
    ),
    ...verbs(() => import('./commands/server.ts'), { mcp: 'Serve MCP over standard input and output' }),
    a2a: noun('Agents elsewhere, by the A2A protocol', () => import('./commands/a2a.ts'), {
      card: 'Show what an agent says of itself',
      send: 'Give an agent elsewhere a task and wait for what comes of it',
      tasks: 'List the tasks an agent elsewhere has from you, or show one',
    }),
    bridge: noun('Hand work to agents, and bring their results back', () => import('./commands/bridge.ts'), {
      start: 'Give an agent the tasks of a channel, and bring its results back',
      send: 'Give a task to an agent behind a bridge',
      list: 'List the bridges, with their last heartbeat',
      status: 'Show what bridges are at, and what waits for them',
    }),
    task: noun('Tasks: what was given to agents, and what came back', () => import('./commands/task.ts'), {
      list: 'List tasks, newest first',
      show: 'Show a task: its state, who has it, who has seen it, its result',
      done: 'Bring the result of a task',
      fail: 'Say that a task could not be done, and why',
      cancel: 'Call a task off, and stop the work on it',
      wait: 'Wait for the result of a task, and print it',
    }),
    ...verbs(() => import('./commands/bridge.ts'), { agents: 'List who is there: bridges and followers' }),
  },
  Server: {
    ...verbs(() => import('./commands/server.ts'), {
      up: 'Run the relay server here',
      open: 'Open the dashboard, at a thread, a pointer or a channel',
      down: 'Stop the relay server that runs here',
      status: 'Tell whether a relay runs, where, and what it holds',
    }),
    keys: noun(
      'API keys: who may do what on a relay that others can reach',
      () => import('./commands/keys.ts'),
      {
        create: 'Make an API key; it is shown this once',
        list: 'List the API keys: name, rights, last use; never the keys themselves',
        revoke: 'Revoke API keys at once',
        rotate: 'Make a new key in place of an old one, with the same name and rights',
      },
    ),
    config: noun(
      'The options of the relay: config.json and the environment',
      () => import('./commands/config.ts'),
      {
        show: 'Show every option, what counts for it and where that was said',
        get: 'Print what counts for an option',
        set: 'Write an option into config.json',
        check: 'Say everything that is wrong with the options',
      },
    ),
    ...verbs(() => import('./commands/server.ts'), { usage: 'Show what was used of the plan this month' }),
    ...verbs(() => import('./commands/doctor.ts'), {
      doctor: 'Check that everything works, and say what to do where not',
    }),
  },
  Housekeeping: {
    ...verbs(() => import('./commands/store.ts'), {
      prune: 'Give back the space of what has expired',
      du: 'Show what takes how much space',
      backup: 'Copy the whole store to a folder, while in use',
      restore: 'Bring a backup back',
    }),
    engine: noun('Move a store: from a folder to a cluster, and back', () => import('./commands/store.ts'), {
      copy: 'Copy a store into another while in use, and go on there',
      reopen: 'Write again into a store that has moved',
    }),
  },
  More: {
    ...verbs(() => import('./commands/demo.ts'), {
      demo: 'Play a hand-off between two agents and show the bill',
    }),
    ...verbs(() => import('./commands/about.ts'), { help: 'Show a guide, or the help of a command' }),
    ...verbs(() => import('./commands/completion.ts'), {
      completion: 'Print a completion script for a shell',
    }),
    ...verbs(() => import('./commands/about.ts'), { version: 'Print the version' }),
  },
};

export const ROOT: Group = group(
  'relay: agents hand each other a short pointer instead of the payload',
  Object.assign({}, ...Object.values(SECTIONS)),
);
