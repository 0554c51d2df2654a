import type { Group } from './command.ts';
import type { Section } from './help.ts';

/** The whole command tree. A command's own file is loaded only when it is called. */
export const ROOT: Group = {
  summary: 'relay: agents hand each other a short pointer instead of the payload',
  commands: {
    up: { summary: 'Run the relay server here', load: () => import('./commands/up.ts') },
    down: { summary: 'Stop the relay server that runs here', load: () => import('./commands/down.ts') },
    status: {
      summary: 'Tell whether a relay runs, where, and what it holds',
      load: () => import('./commands/status.ts'),
    },
    doctor: {
      summary: 'Check that everything works, and say what to do where not',
      load: () => import('./commands/doctor.ts'),
    },
    demo: {
      summary: 'Play a hand-off between two agents and show the bill',
      load: () => import('./commands/demo.ts'),
    },
    push: { summary: 'Store a payload and get a pointer to it', load: () => import('./commands/push.ts') },
    pull: { summary: 'Get a payload back, or only a part of it', load: () => import('./commands/pull.ts') },
    peek: {
      summary: 'Look at the metadata without touching the payload',
      load: () => import('./commands/peek.ts'),
    },
    receipts: {
      summary: 'Show who was told of a pointer, pulled it, did it',
      load: () => import('./commands/receipts.ts'),
    },
    rm: { summary: 'Revoke pointers at once', load: () => import('./commands/rm.ts') },
    watch: {
      summary: 'Show the messages of a channel as they come',
      load: () => import('./commands/watch.ts'),
    },
    publish: {
      summary: 'Send a signal to a channel, without a payload',
      load: () => import('./commands/publish.ts'),
    },
    channels: { summary: 'List the channels there are', load: () => import('./commands/channels.ts') },
    channel: {
      summary: 'One channel: its groups and its key',
      commands: {
        inspect: {
          summary: 'Show a channel and its groups: backlog, members, leases',
          load: () => import('./commands/channel/inspect.ts'),
        },
        'forget-group': {
          summary: 'Forget a group and whatever it had not done',
          load: () => import('./commands/channel/forget-group.ts'),
        },
        key: {
          summary: 'Keys shared with others on a channel, for encrypted pushes',
          commands: {
            new: { summary: 'Make one', load: () => import('./commands/channel/key/new.ts') },
            add: {
              summary: 'Take one that someone gave you',
              load: () => import('./commands/channel/key/add.ts'),
            },
            show: { summary: 'Print it', load: () => import('./commands/channel/key/show.ts') },
            list: {
              summary: 'List the channels there is one for',
              load: () => import('./commands/channel/key/list.ts'),
            },
            rm: { summary: 'Throw it away', load: () => import('./commands/channel/key/rm.ts') },
          },
        },
      },
    },
    follow: {
      summary: 'Have the messages of a channel kept for a named agent',
      load: () => import('./commands/follow.ts'),
    },
    unfollow: { summary: 'Stop following a channel', load: () => import('./commands/unfollow.ts') },
    inbox: {
      summary: 'Show what a named agent has not read yet',
      load: () => import('./commands/inbox.ts'),
    },
    init: { summary: 'Make the configuration and the storage', load: () => import('./commands/init.ts') },
    thread: {
      summary: 'Threads: versioned state, artifacts and events in one place',
      commands: {
        new: { summary: 'Begin a thread and print its id', load: () => import('./commands/thread/new.ts') },
        use: {
          summary: 'Choose the thread that is meant where none is named',
          load: () => import('./commands/thread/use.ts'),
        },
        list: { summary: 'The same as relay runs', load: () => import('./commands/runs.ts') },
        rm: {
          summary: 'Delete threads with everything in them',
          load: () => import('./commands/thread/rm.ts'),
        },
      },
    },
    runs: { summary: 'List recent threads, newest first', load: () => import('./commands/runs.ts') },
    show: {
      summary: 'Show what a thread is about and where it stands',
      load: () => import('./commands/show.ts'),
    },
    tail: {
      summary: 'Show the events of a thread, also as they happen',
      load: () => import('./commands/tail.ts'),
    },
    state: {
      summary: "A thread's memory: facts, decisions, plan, changed by JSON Patch",
      commands: {
        header: {
          summary: 'Print the bounded view that goes into a prompt',
          load: () => import('./commands/state/header.ts'),
        },
        get: {
          summary: 'Print the whole state, or a place of it, as it is or was',
          load: () => import('./commands/state/get.ts'),
        },
        patch: {
          summary: 'Change it by JSON Patch, whole or not at all',
          load: () => import('./commands/state/patch.ts'),
        },
        diff: {
          summary: 'Show what changed between two versions',
          load: () => import('./commands/state/diff.ts'),
        },
        log: { summary: 'List the versions, newest first', load: () => import('./commands/state/log.ts') },
        compact: {
          summary: 'Shorten a state that has grown long',
          load: () => import('./commands/state/compact.ts'),
        },
      },
    },
    artifact: {
      summary: 'Stored content of a thread: a ref and a preview travel, the rest is a pull away',
      commands: {
        put: {
          summary: 'Store a file and get a ref to it',
          load: () => import('./commands/artifact/put.ts'),
        },
        get: { summary: 'Get the content back', load: () => import('./commands/artifact/get.ts') },
        list: { summary: 'List them, newest first', load: () => import('./commands/artifact/list.ts') },
        search: { summary: 'Search them, best first', load: () => import('./commands/artifact/search.ts') },
      },
    },
    cap: {
      summary: 'Capabilities: what a thread can have done, with a cache',
      commands: {
        list: {
          summary: 'List what there is, and what each takes',
          load: () => import('./commands/cap/list.ts'),
        },
        invoke: { summary: 'Have one do something', load: () => import('./commands/cap/invoke.ts') },
      },
    },
    report: { summary: 'Tell a thread in one document', load: () => import('./commands/report.ts') },
    stats: {
      summary: 'Show what a thread has saved in tokens, counted',
      load: () => import('./commands/stats.ts'),
    },
    export: { summary: 'Write a whole thread into one file', load: () => import('./commands/export.ts') },
    import: {
      summary: 'Take in a thread that was exported, or those of a Go relay',
      load: () => import('./commands/import.ts'),
    },
    replay: {
      summary: 'Fold the events of a thread again and compare',
      load: () => import('./commands/replay.ts'),
    },
    prune: { summary: 'Give back the space of what has expired', load: () => import('./commands/prune.ts') },
    du: { summary: 'Show what takes how much space', load: () => import('./commands/du.ts') },
    backup: {
      summary: 'Copy the whole store to a folder, while in use',
      load: () => import('./commands/backup.ts'),
    },
    restore: { summary: 'Bring a backup back', load: () => import('./commands/restore.ts') },
    keys: {
      summary: 'API keys: who may do what on a relay that others can reach',
      commands: {
        create: {
          summary: 'Make a key; it is shown this once',
          load: () => import('./commands/keys/create.ts'),
        },
        list: {
          summary: 'List the keys: name, rights, last use',
          load: () => import('./commands/keys/list.ts'),
        },
        revoke: { summary: 'Revoke keys at once', load: () => import('./commands/keys/revoke.ts') },
        rotate: {
          summary: 'Make a new key in place of an old one',
          load: () => import('./commands/keys/rotate.ts'),
        },
      },
    },
    usage: { summary: 'Show what was used of the plan', load: () => import('./commands/usage.ts') },
    project: {
      summary: 'Project files: where a project stands, for sessions that remember nothing',
      commands: {
        init: {
          summary: 'Write PROJECT.md, state.json, todos.json and decisions.md',
          load: () => import('./commands/project/init.ts'),
        },
        start: {
          summary: 'The cold start: one bounded brief',
          load: () => import('./commands/project/start.ts'),
        },
        sync: {
          summary: 'The end of a session: write down where things stand',
          load: () => import('./commands/project/sync.ts'),
        },
        check: {
          summary: 'Check the files, and that no decision was rewritten',
          load: () => import('./commands/project/check.ts'),
        },
        handoff: {
          summary: 'Give a task to a sub-agent',
          load: () => import('./commands/project/handoff.ts'),
        },
        report: {
          summary: 'Report the result, as the sub-agent',
          load: () => import('./commands/project/report.ts'),
        },
        result: {
          summary: 'Read what a sub-agent reported',
          load: () => import('./commands/project/result.ts'),
        },
      },
    },
    todo: {
      summary: 'The todos of a project',
      commands: {
        add: { summary: 'Add a todo', load: () => import('./commands/todo/add.ts') },
        start: { summary: 'Start a todo', load: () => import('./commands/todo/start.ts') },
        done: { summary: 'Complete a todo', load: () => import('./commands/todo/done.ts') },
        block: {
          summary: 'Mark it blocked, with the reason',
          load: () => import('./commands/todo/block.ts'),
        },
        list: { summary: 'List what is open', load: () => import('./commands/todo/list.ts') },
        review: { summary: 'Go through all of them', load: () => import('./commands/todo/review.ts') },
      },
    },
    decide: { summary: 'Record a decision', load: () => import('./commands/decide.ts') },
    handoff: {
      summary: 'Hand the work over to another agent, with a bounded brief',
      load: () => import('./commands/handoff.ts'),
    },
    install: {
      summary: 'Set up a coding agent: skill, hooks and MCP entry',
      load: () => import('./commands/install.ts'),
    },
    hook: {
      summary: 'What a coding agent calls by itself',
      hidden: true,
      load: () => import('./commands/hook.ts'),
    },
    run: {
      summary: 'Ask a model something, with the memory of a thread',
      load: () => import('./commands/run.ts'),
    },
    wrap: {
      summary: 'Ask any program something, with the memory of a thread',
      commands: {
        run: {
          summary: 'Ask any program something, with the memory of a thread',
          load: () => import('./commands/wrap/run.ts'),
        },
        list: {
          summary: 'List the programs that are known, and which are here',
          load: () => import('./commands/wrap/list.ts'),
        },
      },
    },
    pipeline: {
      summary: 'Pipelines: steps of several agents, in parallel where they can be',
      commands: {
        run: {
          summary: 'Run a pipeline, or go on with a run',
          load: () => import('./commands/pipeline/run.ts'),
        },
        validate: {
          summary: 'Check a pipeline, and name the lines that are wrong',
          load: () => import('./commands/pipeline/validate.ts'),
        },
        graph: {
          summary: 'Draw a pipeline or a run of one',
          load: () => import('./commands/pipeline/graph.ts'),
        },
        list: { summary: 'List the runs there were', load: () => import('./commands/pipeline/list.ts') },
        show: { summary: 'Show what became of a run', load: () => import('./commands/pipeline/show.ts') },
      },
    },
    a2a: {
      summary: 'Agents elsewhere, by the A2A protocol',
      commands: {
        card: {
          summary: 'Show what an agent says of itself',
          load: () => import('./commands/a2a/card.ts'),
        },
        send: {
          summary: 'Give an agent a task and wait for what comes of it',
          load: () => import('./commands/a2a/send.ts'),
        },
        tasks: {
          summary: 'List the tasks an agent has from you, or show one',
          load: () => import('./commands/a2a/tasks.ts'),
        },
      },
    },
    mcp: {
      summary: 'Serve MCP over standard input and output',
      load: () => import('./commands/mcp.ts'),
    },
    completion: {
      summary: 'Print a completion script for a shell',
      load: () => import('./commands/completion.ts'),
    },
    version: { summary: 'Print the version', load: () => import('./commands/version.ts') },
  },
};

/** How `relay --help` groups them; what is not named here is listed under "More". */
export const SECTIONS: readonly Section[] = [
  { title: 'Hand over', names: ['push', 'pull', 'peek', 'rm'] },
  {
    title: 'Channels',
    names: ['watch', 'publish', 'channels', 'channel', 'follow', 'unfollow', 'inbox', 'receipts'],
  },
  {
    title: 'Threads',
    names: [
      'init',
      'thread',
      'runs',
      'show',
      'tail',
      'state',
      'artifact',
      'cap',
      'report',
      'stats',
      'export',
      'import',
      'replay',
    ],
  },
  { title: 'Projects', names: ['project', 'todo', 'decide', 'handoff', 'install'] },
  { title: 'Agents', names: ['run', 'wrap', 'pipeline', 'mcp', 'a2a'] },
  { title: 'Server', names: ['up', 'down', 'status', 'keys', 'usage', 'doctor'] },
  { title: 'Housekeeping', names: ['prune', 'du', 'backup', 'restore'] },
];
