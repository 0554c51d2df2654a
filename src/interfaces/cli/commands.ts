import { type Group, group, noun, type Sections, verbs } from './command.ts';

/**
 * All commands with their summaries, grouped by the sections of `relay --help`. The file of a command is
 * imported only when the command or its help is called: importing all files takes longer than a fast command.
 */
export const SECTIONS: Sections = {
  Pointers: {
    ...verbs(() => import('./commands/pointer.ts'), {
      push: 'Store a payload and get a pointer to it',
      pull: 'Read the payload of a pointer, or a part of it',
      peek: 'Show the metadata of a pointer without reading its payload',
      ls: 'List pointers, newest first',
      renew: 'Extend the life of pointers',
      rm: 'Revoke pointers and delete their payloads',
    }),
    ...verbs(() => import('./commands/tee.ts'), {
      tee: 'Run a command, store long output and print an excerpt of it',
    }),
  },
  Channels: {
    ...verbs(() => import('./commands/messages.ts'), {
      watch: 'Show new messages of a channel as they arrive',
      publish: 'Send a short text or JSON to a channel',
      channels: 'List all channels',
    }),
    channel: group('Manage the groups, dead letters and keys of a channel', {
      ...verbs(() => import('./commands/channel.ts'), {
        inspect: 'Show a channel and its groups: backlog, members, leases',
        rm: 'Delete a channel with its messages, groups and dead letters',
        'forget-group': 'Delete a group and its unfinished work',
        group: 'Show or set the retry delays of a group',
      }),
      dead: noun(
        'Manage dead letters: messages a group gave up on',
        () => import('./commands/dead-letters.ts'),
        {
          list: 'List the dead letters of a channel',
          retry: 'Send dead letters to their group again',
          drop: 'Delete dead letters without retrying them',
        },
      ),
      key: noun('Manage the encryption keys of channels', () => import('./commands/channel-key.ts'), {
        new: 'Create an encryption key for a channel',
        add: 'Add a channel key that someone gave you',
        show: 'Print the key of a channel',
        list: 'List the channels that have a key on this machine',
        rm: 'Delete the key of a channel from this machine',
      }),
    }),
    ...verbs(() => import('./commands/inbox.ts'), {
      follow: "Subscribe a named agent's inbox to a channel",
      unfollow: "Unsubscribe a named agent's inbox from a channel",
      inbox: 'Show the unread messages of a named agent',
    }),
    ...verbs(() => import('./commands/pointer.ts'), {
      receipts: 'Show who was notified of a pointer, pulled it or acknowledged it',
    }),
  },
  Threads: {
    ...verbs(() => import('./commands/store.ts'), { init: 'Create the store and its configuration' }),
    thread: noun('Create, choose, list and delete threads', () => import('./commands/thread.ts'), {
      new: 'Create a thread and print its id',
      use: 'Choose the default thread for other commands',
      list: 'List recent threads, newest first (same as relay runs)',
      rm: 'Delete threads with their state, artifacts and events',
    }),
    ...verbs(() => import('./commands/thread.ts'), {
      runs: 'List recent threads, newest first (same as relay thread list)',
      show: 'Show a summary of a thread',
      tail: 'Show the latest events of a thread, or follow new ones',
    }),
    state: noun(
      'Read and change the state of a thread: facts, decisions, plan',
      () => import('./commands/state.ts'),
      {
        header: 'Print a short view of the state for a prompt',
        get: 'Print the state, or one value of it, at any version',
        patch: 'Change the state with a JSON Patch',
        diff: 'Show what changed between two versions of the state',
        revert: 'Restore an earlier version of the state as a new version',
        log: 'List the versions of the state, newest first',
        compact: 'Shorten a state that has grown long',
      },
    ),
    artifact: noun(
      'Store, read and search the artifacts of a thread',
      () => import('./commands/artifact.ts'),
      {
        put: 'Store a file in a thread and get a ref to it',
        get: 'Read the content of an artifact, or a part of it',
        list: 'List the artifacts of a thread, newest first',
        search: 'Search the artifacts and the state of a thread',
        rm: 'Delete the content of artifacts permanently',
      },
    ),
    cap: noun('List and invoke capabilities, such as a search', () => import('./commands/cap.ts'), {
      list: 'List the capabilities and their arguments',
      invoke: 'Invoke a capability and store its result in a thread',
    }),
    ...verbs(() => import('./commands/thread.ts'), {
      report: 'Generate a report for a thread',
      stats: 'Show how many tokens a thread has saved',
      export: 'Export a thread to a ZIP file',
      import: 'Import an exported thread, or the threads of a Go relay',
      replay: 'Rebuild the state of a thread from its events and compare',
    }),
  },
  Files: {
    file: noun('Store and read named files with versions', () => import('./commands/file.ts'), {
      put: 'Write a file',
      get: 'Read a file, or a part of it',
      ls: 'List spaces, or the files in a space',
      log: 'List the versions of a file, newest first',
      rm: 'Delete files with all their versions',
    }),
  },
  Projects: {
    project: noun(
      'Keep the status of a project in files, for agents without memory',
      () => import('./commands/project.ts'),
      {
        init: 'Create PROJECT.md, state.json, todos.json and decisions.md',
        start: 'Print a short brief of the project for a new session',
        sync: 'Record the progress of a session in the project files',
        check: 'Check the project files and that no decision was changed',
        merge: 'Resolve git merge conflicts in the project files',
        handoff: 'Give a task to a sub-agent through state.json',
        report: 'Report the result of a handed-off task, as the sub-agent',
        result: 'Show the result that a sub-agent reported',
      },
    ),
    todo: noun('Manage the todos of a project', () => import('./commands/todo.ts'), {
      add: 'Add a todo',
      start: 'Mark a todo as in progress',
      done: 'Mark a todo as completed',
      block: 'Mark a todo as blocked, with the reason',
      claim: 'Claim a todo, or the next free one, and start it',
      release: 'Release a claimed todo',
      list: 'List the todos: in progress, blocked, then pending by priority',
      review: 'List all open todos and record the time of the review',
    }),
    ...verbs(() => import('./commands/project.ts'), {
      decide: 'Append a decision to decisions.md',
    }),
    ...verbs(() => import('./commands/handoff.ts'), {
      handoff: 'Write a short brief that hands the work to another agent',
    }),
    session: group('Read, search and continue sessions of coding agents', {
      ...verbs(() => import('./commands/session.ts'), {
        list: 'List the sessions of this repository, newest first',
        show: 'Print a session or one of its turns',
        search: 'Search the turns of sessions',
        export: 'Store a session and print a pointer to it',
        forget: 'Delete a session from the index and hide it',
        resume: 'Open a coding agent that continues a session',
      }),
      ...verbs(() => import('./commands/session.ts'), { index: 'Update the search index' }, { hidden: true }),
    }),
    ...verbs(() => import('./commands/install.ts'), {
      install: 'Connect a coding agent: install skill, hooks and MCP entry',
    }),
    ...verbs(
      () => import('./commands/hook.ts'),
      { hook: 'Handle a hook of a coding agent (set up by relay install)' },
      { hidden: true },
    ),
  },
  Agents: {
    ...verbs(() => import('./commands/prompt.ts'), {
      run: 'Send a prompt to a model, with the context of a thread',
    }),
    wrap: noun(
      'Send a prompt to another program, with the context of a thread',
      () => import('./commands/wrap.ts'),
      {
        run: 'Send a prompt to another program, with the context of a thread',
        list: 'List the supported programs and which are installed',
      },
    ),
    pipeline: noun(
      'Run pipelines: steps for several agents, in parallel where possible',
      () => import('./commands/pipeline.ts'),
      {
        run: 'Run a pipeline, or resume a run',
        validate: 'Check a pipeline file and print errors with line numbers',
        graph: 'Draw the graph of a pipeline or of a run',
        list: 'List pipeline runs, newest first',
        show: 'Show the status and the steps of a run',
        why: 'Explain why a run failed, or what it waits for',
        cancel: 'Cancel a run',
        serve: 'Start runs from messages, schedules and webhooks',
      },
    ),
    ...verbs(() => import('./commands/mcp.ts'), {
      mcp: 'Serve MCP over standard input and output, or wrap another MCP server',
    }),
    a2a: noun('Send tasks to remote agents with the A2A protocol', () => import('./commands/a2a.ts'), {
      card: 'Show the agent card of a remote agent',
      send: 'Send a task to a remote agent and wait for the result',
      tasks: 'List your tasks at a remote agent, or show one',
    }),
    bridge: noun('Connect agents to task channels', () => import('./commands/bridge.ts'), {
      start: 'Connect an agent to a task channel and return its results',
      send: 'Send a task to an agent that has a bridge',
      list: 'List the bridges with their last heartbeat',
      status: 'Show what bridges are working on and what is queued',
    }),
    task: noun('Manage tasks that were sent to agents', () => import('./commands/task.ts'), {
      list: 'List tasks, newest first',
      show: 'Show a task: its state, agent, receipts and result',
      done: 'Submit the result of a task',
      fail: 'Report that a task failed, and why',
      cancel: 'Cancel a task and stop the work on it',
      wait: 'Wait for the result of a task and print it',
    }),
    ...verbs(() => import('./commands/question.ts'), {
      ask: 'Ask a person a question and wait for the answer',
      approve: 'Answer the questions that pipelines and agents have asked',
    }),
    ...verbs(() => import('./commands/agents.ts'), {
      agents: 'List agents: what they work on and how they can be reached',
      send: 'Send a message to an agent by name, and wake it',
      conversations: 'List the conversations of agents, or show one',
      claim: 'Claim files, so that other agents know that you work on them',
      release: 'Release claimed files',
      claims: 'List what agents have claimed',
    }),
  },
  Server: {
    ...verbs(() => import('./commands/server.ts'), {
      up: 'Start the relay server on this machine',
      open: 'Open the dashboard in a browser',
      down: 'Stop the relay server on this machine',
      status: 'Show whether a relay server runs, its address and its store',
    }),
    keys: noun('Manage API keys', () => import('./commands/keys.ts'), {
      create: 'Create an API key and print it once',
      list: 'List the API keys with name, scopes and last use',
      revoke: 'Revoke API keys immediately',
      rotate: 'Replace a key by a new one with the same name and scopes',
    }),
    config: noun('Show and change the configuration', () => import('./commands/config.ts'), {
      show: 'Show every option with its value and where the value is set',
      get: 'Print the value of an option',
      set: 'Set an option in config.json',
      check: 'Check the configuration and list every error',
    }),
    ...verbs(() => import('./commands/server.ts'), {
      usage: 'Show the usage of this month against the limits of the plan',
    }),
    ...verbs(() => import('./commands/doctor.ts'), {
      doctor: 'Check the installation and suggest fixes',
    }),
  },
  Storage: {
    ...verbs(() => import('./commands/store.ts'), {
      prune: 'Delete expired data and free its space',
      du: 'Show how much disk space each kind of data uses',
      backup: 'Back up the whole store to a folder, even while it is in use',
      restore: 'Restore a backup',
    }),
    engine: noun('Move a store between a folder and a NATS cluster', () => import('./commands/store.ts'), {
      copy: 'Copy a store while it is in use, then make the source read-only',
      reopen: 'Make the source of relay engine copy writable again',
    }),
  },
  More: {
    ...verbs(() => import('./commands/demo.ts'), {
      demo: 'Simulate a hand-off between two agents and count the tokens',
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
