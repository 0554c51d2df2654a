import { type Group, group, leaf, type Sections } from './command.ts';

/**
 * Every command, at the words it is called by and with its one summary, as `relay --help` groups them. A command's own file
 * is loaded only when it is called or its help is asked for: importing them all would take longer than a peek.
 */
export const SECTIONS: Sections = {
  'Hand over': {
    push: leaf('Store a payload and get a pointer to it', () => import('./pointers/push.ts')),
    pull: leaf('Get a payload back, or only a part of it', () => import('./pointers/pull.ts')),
    peek: leaf('Look at the metadata without touching the payload', () => import('./pointers/peek.ts')),
    rm: leaf('Revoke pointers at once', () => import('./pointers/rm.ts')),
  },
  Channels: {
    watch: leaf('Show the messages of a channel as they come', () => import('./channels/watch.ts')),
    publish: leaf('Send a signal to a channel, without a payload', () => import('./channels/publish.ts')),
    channels: leaf('List the channels there are', () => import('./channels/list.ts')),
    channel: group('One channel: its groups and its key', {
      inspect: leaf(
        'Show a channel and its groups: backlog, members, leases',
        () => import('./channels/inspect.ts'),
      ),
      'forget-group': leaf(
        'Forget a group and whatever it had not done',
        () => import('./channels/forget-group.ts'),
      ),
      group: leaf(
        'Show or choose how long failed work of a group waits',
        () => import('./channels/group.ts'),
      ),
      dead: group('Dead letters: work that a group could not do', {
        list: leaf('List the dead letters of a channel', () => import('./channels/dead/list.ts')),
        retry: leaf(
          'Hand dead letters out again, to the group that could not do them',
          () => import('./channels/dead/retry.ts'),
        ),
        drop: leaf('Take dead letters from the list', () => import('./channels/dead/drop.ts')),
      }),
      key: group('Keys shared with others on a channel, for encrypted pushes', {
        new: leaf(
          'Make a key for a channel, to be shared with those who read it',
          () => import('./channels/key/new.ts'),
        ),
        add: leaf("Take a channel's key that someone gave you", () => import('./channels/key/add.ts')),
        show: leaf('Print the key of a channel', () => import('./channels/key/show.ts')),
        list: leaf('List the channels there is a key for', () => import('./channels/key/list.ts')),
        rm: leaf('Throw away the key of a channel', () => import('./channels/key/rm.ts')),
      }),
    }),
    follow: leaf(
      'Have the messages of a channel kept for a named agent',
      () => import('./channels/follow.ts'),
    ),
    unfollow: leaf('Stop following a channel', () => import('./channels/unfollow.ts')),
    inbox: leaf('Show what a named agent has not read yet', () => import('./channels/inbox.ts')),
    receipts: leaf(
      'Show who was told of a pointer, pulled it, did it',
      () => import('./pointers/receipts.ts'),
    ),
  },
  Threads: {
    init: leaf('Make the configuration and the storage', () => import('./store/init.ts')),
    thread: group('Threads: versioned state, artifacts and events in one place', {
      new: leaf('Begin a thread and print its id', () => import('./threads/new.ts')),
      use: leaf('Choose the thread that is meant where none is named', () => import('./threads/use.ts')),
      list: leaf(
        'List recent threads, newest first; the same as relay runs',
        () => import('./threads/list.ts'),
      ),
      rm: leaf('Delete threads with everything in them', () => import('./threads/rm.ts')),
    }),
    runs: leaf('List recent threads, newest first', () => import('./threads/list.ts')),
    show: leaf('Show what a thread is about and where it stands', () => import('./threads/show.ts')),
    tail: leaf('Show the events of a thread, also as they happen', () => import('./threads/tail.ts')),
    state: group("A thread's memory: facts, decisions, plan, changed by JSON Patch", {
      header: leaf(
        'Print the bounded view of a state that goes into a prompt',
        () => import('./state/header.ts'),
      ),
      get: leaf('Print the whole state, or a place of it, as it is or was', () => import('./state/get.ts')),
      patch: leaf('Change the state by JSON Patch, whole or not at all', () => import('./state/patch.ts')),
      diff: leaf('Show what changed between two versions of a state', () => import('./state/diff.ts')),
      revert: leaf('Go back to an earlier version, as a new one', () => import('./state/revert.ts')),
      log: leaf('List the versions of a state, newest first', () => import('./state/log.ts')),
      compact: leaf('Shorten a state that has grown long', () => import('./state/compact.ts')),
    }),
    artifact: group('Stored content of a thread: a ref and a preview travel, the rest is a pull away', {
      put: leaf('Store a file in a thread and get a ref to it', () => import('./artifacts/put.ts')),
      get: leaf('Get the content of an artifact back', () => import('./artifacts/get.ts')),
      list: leaf('List the artifacts of a thread, newest first', () => import('./artifacts/list.ts')),
      search: leaf('Search the artifacts of a thread, best first', () => import('./artifacts/search.ts')),
      rm: leaf('Delete an artifact for good; its hash stays', () => import('./artifacts/rm.ts')),
    }),
    cap: group('Capabilities: what a thread can have done, with a cache', {
      list: leaf(
        'List what a thread can have done, and what each takes',
        () => import('./capabilities/list.ts'),
      ),
      invoke: leaf('Have a capability do something for a thread', () => import('./capabilities/invoke.ts')),
    }),
    report: leaf('Tell a thread in one document', () => import('./threads/report.ts')),
    stats: leaf('Show what a thread has saved in tokens, counted', () => import('./threads/stats.ts')),
    export: leaf('Write a whole thread into one file', () => import('./threads/export.ts')),
    import: leaf(
      'Take in a thread that was exported, or the threads of a Go relay',
      () => import('./threads/import.ts'),
    ),
    replay: leaf(
      'Fold the events of a thread again and compare with its state',
      () => import('./threads/replay.ts'),
    ),
  },
  Files: {
    file: group('Files under a space: overwritten and deleted at will, with their versions', {
      put: leaf('Write a file', () => import('./files/put.ts')),
      get: leaf('Read a file, or only a part of it', () => import('./files/get.ts')),
      ls: leaf('List spaces, and the files in one', () => import('./files/ls.ts')),
      log: leaf('List the versions of a file, newest first', () => import('./files/log.ts')),
      rm: leaf('Delete files with all their versions', () => import('./files/rm.ts')),
    }),
  },
  Projects: {
    project: group('Project files: where a project stands, for sessions that remember nothing', {
      init: leaf(
        'Write PROJECT.md, state.json, todos.json and decisions.md',
        () => import('./projects/init.ts'),
      ),
      start: leaf(
        'The cold start: one bounded brief of where the project stands',
        () => import('./projects/start.ts'),
      ),
      sync: leaf('The end of a session: write down where things stand', () => import('./projects/sync.ts')),
      check: leaf(
        'Check the project files, and that no decision was rewritten',
        () => import('./projects/check.ts'),
      ),
      merge: leaf(
        'Resolve the conflicts that git left in the project files',
        () => import('./projects/merge.ts'),
      ),
      handoff: leaf('Give a task to a sub-agent, through state.json', () => import('./projects/handoff.ts')),
      report: leaf(
        'Report the result of a task that was handed off, as the sub-agent',
        () => import('./projects/report.ts'),
      ),
      result: leaf('Read what a sub-agent reported', () => import('./projects/result.ts')),
    }),
    todo: group('The todos of a project', {
      add: leaf('Add a todo', () => import('./todos/add.ts')),
      start: leaf('Start a todo, or take it up again', () => import('./todos/start.ts')),
      done: leaf('Complete a todo', () => import('./todos/done.ts')),
      block: leaf('Mark a todo as blocked, with the reason', () => import('./todos/block.ts')),
      list: leaf(
        'List the todos: in progress, blocked, then next by priority',
        () => import('./todos/list.ts'),
      ),
      review: leaf('Go through all open todos and note that it was done', () => import('./todos/review.ts')),
    }),
    decide: leaf('Record a decision: append it to decisions.md', () => import('./projects/decide.ts')),
    handoff: leaf(
      'Hand the work over to another agent, with a bounded brief',
      () => import('./coding-agents/handoff.ts'),
    ),
    install: leaf(
      'Set up a coding agent: skill, hooks and MCP entry',
      () => import('./coding-agents/install.ts'),
    ),
    hook: leaf(
      'What a coding agent calls by itself; relay install sets it up',
      () => import('./coding-agents/hook.ts'),
      { hidden: true },
    ),
  },
  Agents: {
    run: leaf('Ask a model something, with the memory of a thread', () => import('./prompts/run.ts')),
    wrap: group('Ask any program something, with the memory of a thread', {
      run: leaf('Ask any program something, with the memory of a thread', () => import('./prompts/wrap.ts')),
      list: leaf(
        'List the programs that are known, and which are here',
        () => import('./prompts/programs.ts'),
      ),
    }),
    pipeline: group('Pipelines: steps of several agents, in parallel where they can be', {
      run: leaf('Run a pipeline, or go on with a run', () => import('./pipelines/run.ts')),
      validate: leaf(
        'Check a pipeline, and name the lines that are wrong',
        () => import('./pipelines/validate.ts'),
      ),
      graph: leaf('Draw a pipeline or a run of one', () => import('./pipelines/graph.ts')),
      list: leaf('List the runs there were', () => import('./pipelines/list.ts')),
      show: leaf('Show what became of a run', () => import('./pipelines/show.ts')),
    }),
    mcp: leaf('Serve MCP over standard input and output', () => import('./server/mcp.ts')),
    a2a: group('Agents elsewhere, by the A2A protocol', {
      card: leaf('Show what an agent says of itself', () => import('./a2a/card.ts')),
      send: leaf(
        'Give an agent elsewhere a task and wait for what comes of it',
        () => import('./a2a/send.ts'),
      ),
      tasks: leaf(
        'List the tasks an agent elsewhere has from you, or show one',
        () => import('./a2a/tasks.ts'),
      ),
    }),
    bridge: group('Hand work to agents, and bring their results back', {
      start: leaf(
        'Give an agent the tasks of a channel, and bring its results back',
        () => import('./bridge/start.ts'),
      ),
      send: leaf('Give a task to an agent behind a bridge', () => import('./bridge/send.ts')),
      list: leaf('List the bridges, with their last heartbeat', () => import('./bridge/list.ts')),
      status: leaf('Show what bridges are at, and what waits for them', () => import('./bridge/status.ts')),
    }),
    task: group('Tasks: what was given to agents, and what came back', {
      list: leaf('List tasks, newest first', () => import('./tasks/list.ts')),
      show: leaf(
        'Show a task: its state, who has it, who has seen it, its result',
        () => import('./tasks/show.ts'),
      ),
      done: leaf('Bring the result of a task', () => import('./tasks/done.ts')),
      fail: leaf('Say that a task could not be done, and why', () => import('./tasks/fail.ts')),
      cancel: leaf('Call a task off, and stop the work on it', () => import('./tasks/cancel.ts')),
      wait: leaf('Wait for the result of a task, and print it', () => import('./tasks/wait.ts')),
    }),
    agents: leaf('List who is there: bridges and followers', () => import('./bridge/agents.ts')),
  },
  Server: {
    up: leaf('Run the relay server here', () => import('./server/up.ts')),
    open: leaf('Open the dashboard, at a thread, a pointer or a channel', () => import('./server/open.ts')),
    down: leaf('Stop the relay server that runs here', () => import('./server/down.ts')),
    status: leaf('Tell whether a relay runs, where, and what it holds', () => import('./server/status.ts')),
    keys: group('API keys: who may do what on a relay that others can reach', {
      create: leaf('Make an API key; it is shown this once', () => import('./keys/create.ts')),
      list: leaf(
        'List the API keys: name, rights, last use; never the keys themselves',
        () => import('./keys/list.ts'),
      ),
      revoke: leaf('Revoke API keys at once', () => import('./keys/revoke.ts')),
      rotate: leaf(
        'Make a new key in place of an old one, with the same name and rights',
        () => import('./keys/rotate.ts'),
      ),
    }),
    config: group('The options of the relay: config.json and the environment', {
      show: leaf(
        'Show every option, what counts for it and where that was said',
        () => import('./config/show.ts'),
      ),
      get: leaf('Print what counts for an option', () => import('./config/get.ts')),
      set: leaf('Write an option into config.json', () => import('./config/set.ts')),
      check: leaf('Say everything that is wrong with the options', () => import('./config/check.ts')),
    }),
    usage: leaf('Show what was used of the plan this month', () => import('./server/usage.ts')),
    doctor: leaf(
      'Check that everything works, and say what to do where not',
      () => import('./server/doctor.ts'),
    ),
  },
  Housekeeping: {
    prune: leaf('Give back the space of what has expired', () => import('./store/prune.ts')),
    du: leaf('Show what takes how much space', () => import('./store/du.ts')),
    backup: leaf('Copy the whole store to a folder, while in use', () => import('./store/backup.ts')),
    restore: leaf('Bring a backup back', () => import('./store/restore.ts')),
    engine: group('Move a store: from a folder to a cluster, and back', {
      copy: leaf(
        'Copy a store into another while in use, and go on there',
        () => import('./store/engine-copy.ts'),
      ),
      reopen: leaf('Write again into a store that has moved', () => import('./store/engine-reopen.ts')),
    }),
  },
  More: {
    demo: leaf('Play a hand-off between two agents and show the bill', () => import('./program/demo.ts')),
    help: leaf('Show a guide, or the help of a command', () => import('./program/help.ts')),
    completion: leaf('Print a completion script for a shell', () => import('./program/completion.ts')),
    version: leaf('Print the version', () => import('./program/version.ts')),
  },
};

export const ROOT: Group = group(
  'relay: agents hand each other a short pointer instead of the payload',
  Object.assign({}, ...Object.values(SECTIONS)),
);
