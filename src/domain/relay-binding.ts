import { pointerUrl } from '../base/pointer-url.ts';
import { type Caller, mayUseChannel, requireChannel } from './caller.ts';
import type { Channels } from './channels/channels.ts';
import type { ChannelsApi } from './channels/types.ts';
import type { House } from './house.ts';
import type { Inboxes } from './inbox/inboxes.ts';
import type { InboxApi } from './inbox/types.ts';
import type { Keys } from './keys/keys.ts';
import type { KeysApi } from './keys/types.ts';
import { checkChannelName, checkGroupName } from './names.ts';
import type { Pointers } from './pointers/pointers.ts';
import type { PointersApi } from './pointers/types.ts';
import type { Relay } from './relay.ts';
import { bindAgents, bindTasks } from './tasks/task-binding.ts';
import { lazyCapabilities, lazyThreads } from './threads/lazy.ts';

/** The parts of the house with the caller and the base address already given. */
export function bindRelay(house: House, caller: Caller, base: string): Relay {
  return {
    pointers: bindPointers(house.pointers, caller, base),
    channels: bindChannels(house.channels, caller, base),
    inbox: bindInbox(house.inboxes, caller, base),
    receipts: { get: (id) => house.receipts.get(caller, id, base) },
    threads: lazyThreads(() => house.threads(), caller),
    capabilities: lazyCapabilities(() => house.threads(), caller),
    keys: bindKeys(house.keys, caller),
    usage: { get: (o) => house.usage.get(caller, o) },
    tasks: bindTasks(house.tasks, caller, base),
    agents: bindAgents(house.agents, caller),
    // The store belongs to whoever opened it, not to one caller's view of it.
    [Symbol.asyncDispose]: async () => {},
  };
}

function bindPointers(pointers: Pointers, caller: Caller, base: string): PointersApi {
  return {
    push: async (input) => {
      const { id, ...rest } = await pointers.push(caller, input);
      return { url: pointerUrl(base, id), id, ...rest };
    },
    pull: (id, o) => pointers.pull(caller, id, o),
    part: (id, part, o) => pointers.part(caller, id, part, o),
    cost: (id, part) => pointers.cost(caller, id, part),
    peek: (id) => pointers.peek(caller, id),
    delete: (id) => pointers.delete(caller, id),
  };
}

function bindKeys(keys: Keys, caller: Caller): KeysApi {
  return {
    create: (input) => keys.create(caller, input),
    list: (o) => keys.list(caller, o),
    revoke: (id, o) => keys.revoke(caller, id, o),
    rotate: (id, o) => keys.rotate(caller, id, o),
  };
}

function bindChannels(channels: Channels, caller: Caller, base: string): ChannelsApi {
  const { groups } = channels;
  const on = (name: string): string => allowedChannel(caller, name);
  return {
    list: async (o) => {
      const page = await channels.list(caller, o);
      return { ...page, channels: page.channels.filter(({ name }) => mayUseChannel(caller, name)) };
    },
    inspect: async (name) => channels.inspect(caller, on(name)),
    position: async (name) => channels.position(caller, on(name)),
    publish: async (name, msg, o) => channels.publish(caller, on(name), msg, o),
    subscribe: (name, o = {}) => channels.subscribe(caller, on(name), o, base),
    ack: async (name, group, claim) => groups.ack(caller, on(name), checkGroupName(group), claim),
    nack: async (name, group, claim) => groups.nack(caller, on(name), checkGroupName(group), claim),
    extend: async (name, group, claim) => groups.extend(caller, on(name), checkGroupName(group), claim),
    removeGroup: async (name, group) => groups.remove(caller, on(name), checkGroupName(group)),
    ticket: () => channels.tickets.issue(caller),
  };
}

function bindInbox(inboxes: Inboxes, caller: Caller, base: string): InboxApi {
  return {
    follow: async (agent, channel, o) => inboxes.follow(caller, agent, allowedChannel(caller, channel), o),
    unfollow: async (agent, channel) => inboxes.unfollow(caller, agent, allowedChannel(caller, channel)),
    read: (agent, o = {}) => inboxes.read(caller, agent, o, base),
    markRead: async (agent, cursors) => {
      for (const channel of Object.keys(cursors)) allowedChannel(caller, channel);
      return inboxes.markRead(caller, agent, cursors);
    },
  };
}

/** A name that is one, and that the caller's key is not kept from. */
function allowedChannel(caller: Caller, name: string): string {
  const channel = checkChannelName(name);
  requireChannel(caller, channel);
  return channel;
}
