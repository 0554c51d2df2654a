import type { Commands } from '../command.ts';

/** Channels, inboxes, and who has read what. */
export const CHANNEL_COMMANDS: Commands = {
  watch: {
    summary: 'Show the messages of a channel as they come',
    load: () => import('../commands/watch.ts'),
  },
  publish: {
    summary: 'Send a signal to a channel, without a payload',
    load: () => import('../commands/publish.ts'),
  },
  channels: { summary: 'List the channels there are', load: () => import('../commands/channels.ts') },
  channel: {
    summary: 'One channel: its groups and its key',
    commands: {
      inspect: {
        summary: 'Show a channel and its groups: backlog, members, leases',
        load: () => import('../commands/channel/inspect.ts'),
      },
      'forget-group': {
        summary: 'Forget a group and whatever it had not done',
        load: () => import('../commands/channel/forget-group.ts'),
      },
      key: {
        summary: 'Keys shared with others on a channel, for encrypted pushes',
        commands: {
          new: { summary: 'Make one', load: () => import('../commands/channel/key/new.ts') },
          add: {
            summary: 'Take one that someone gave you',
            load: () => import('../commands/channel/key/add.ts'),
          },
          show: { summary: 'Print it', load: () => import('../commands/channel/key/show.ts') },
          list: {
            summary: 'List the channels there is one for',
            load: () => import('../commands/channel/key/list.ts'),
          },
          rm: { summary: 'Throw it away', load: () => import('../commands/channel/key/rm.ts') },
        },
      },
    },
  },
  follow: {
    summary: 'Have the messages of a channel kept for a named agent',
    load: () => import('../commands/follow.ts'),
  },
  unfollow: { summary: 'Stop following a channel', load: () => import('../commands/unfollow.ts') },
  inbox: {
    summary: 'Show what a named agent has not read yet',
    load: () => import('../commands/inbox.ts'),
  },
  receipts: {
    summary: 'Show who was told of a pointer, pulled it, did it',
    load: () => import('../commands/receipts.ts'),
  },
};
