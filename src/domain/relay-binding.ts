import { pointerUrl } from '../base/pointer-url.ts';
import type { Caller } from './caller.ts';
import type { Channels } from './channels/channels.ts';
import type { ChannelsApi } from './channels/types.ts';
import type { House } from './house.ts';
import type { Inboxes } from './inbox/inboxes.ts';
import type { InboxApi } from './inbox/types.ts';
import { checkChannelName, checkGroupName } from './names.ts';
import type { Pointers } from './pointers/pointers.ts';
import type { PointersApi } from './pointers/types.ts';
import type { Relay } from './relay.ts';
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

function bindChannels(channels: Channels, caller: Caller, base: string): ChannelsApi {
  const { groups } = channels;
  return {
    list: (o) => channels.list(caller, o),
    inspect: (name) => channels.inspect(caller, name),
    position: (name) => channels.position(caller, name),
    publish: (name, msg, o) => channels.publish(caller, name, msg, o),
    subscribe: (name, o = {}) => channels.subscribe(caller, name, o, base),
    ack: async (name, group, claim) =>
      groups.ack(caller, checkChannelName(name), checkGroupName(group), claim),
    nack: async (name, group, claim) =>
      groups.nack(caller, checkChannelName(name), checkGroupName(group), claim),
    extend: async (name, group, claim) =>
      groups.extend(caller, checkChannelName(name), checkGroupName(group), claim),
    removeGroup: async (name, group) => groups.remove(caller, checkChannelName(name), checkGroupName(group)),
    ticket: () => channels.tickets.issue(caller),
  };
}

function bindInbox(inboxes: Inboxes, caller: Caller, base: string): InboxApi {
  return {
    follow: (agent, channel, o) => inboxes.follow(caller, agent, channel, o),
    unfollow: (agent, channel) => inboxes.unfollow(caller, agent, channel),
    read: (agent, o = {}) => inboxes.read(caller, agent, o, base),
    markRead: (agent, cursors) => inboxes.markRead(caller, agent, cursors),
  };
}
