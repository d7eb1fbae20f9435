/** The workspace that the stand-in for Slack consists of. */

export type StandInChannel = { id: string; name: string; direct: boolean };

export const workspace = {
  team: "TSTANDIN",
  app: "ASTANDIN",
  botUser: "UBOTSTANDIN",
  bot: "BSTANDIN",
  person: "UPERSON",
  channel: { id: "CSTANDIN", name: "general", direct: false },
  directMessages: { id: "DSTANDIN", name: "Sekisho", direct: true },
} as const satisfies Record<string, string | StandInChannel>;

const channels: readonly StandInChannel[] = [workspace.channel, workspace.directMessages];

export function channelOf(id: string | undefined): StandInChannel | undefined {
  return channels.find((channel) => channel.id === id);
}
