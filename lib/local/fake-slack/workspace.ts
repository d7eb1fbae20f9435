/** The workspaces of the fake Slack: a first one, a second one, and an organization with two more. */

/** `team` owns the channel. People of `sharedWith` are in it too, through Slack Connect. */
export type FakeSlackChannel = {
  id: string;
  name: string;
  direct: boolean;
  team: string;
  sharedWith?: string;
  topic?: string;
  private?: true;
  /** The bot is not in it. */
  withoutBot?: true;
  people: readonly string[];
};

/** `user` is the bot user of the installation. An organization has one for all its workspaces. */
export type FakeSlackTeam = {
  id: string;
  name: string;
  domain: string;
  enterprise?: string;
  user: string;
};
/** `team` is the workspace that Slack names for the person; in an organization there may be others to which the person belongs. */
export type FakeSlackPerson = {
  id: string;
  name: string;
  locale: string;
  team: string;
  otherTeams?: readonly string[];
};

export const workspace = {
  team: "TSTANDIN",
  app: "ASTANDIN",
  botUser: "UBOTSTANDIN",
  bot: "BSTANDIN",
  person: "UPERSON",
  channel: {
    id: "CSTANDIN",
    name: "general",
    direct: false,
    team: "TSTANDIN",
    people: ["UPERSON", "UHANAKO"],
  },
  directMessages: {
    id: "DSTANDIN",
    name: "Sekisho",
    direct: true,
    team: "TSTANDIN",
    people: ["UPERSON"],
  },
} as const satisfies Record<string, string | FakeSlackChannel>;

/** The Enterprise Grid organization, in which the app is installed as a whole. */
export const organization = { id: "ESTANDIN", name: "Fake Slack Grid", user: "UBOTGRID" } as const;

/** Another app, with a bot in the same channels. */
export const otherBot = {
  name: "Monitoring",
  user: "UOTHERBOT",
  bot: "BOTHERBOT",
  app: "AOTHERBOT",
} as const;

/** A workflow of Workflow Builder. It has no user. */
export const workflow = {
  name: "Daily report",
  bot: "BWORKFLOW",
  app: "AWORKFLOW",
  id: "WfSTANDIN",
} as const;

const teams: readonly [FakeSlackTeam, ...FakeSlackTeam[]] = [
  { id: workspace.team, name: "Fake Slack", domain: "fake-slack", user: workspace.botUser },
  { id: "TSECOND", name: "Second", domain: "second", user: "UBOTSECOND" },
  {
    id: "TGRID",
    name: "Grid one",
    domain: "grid-one",
    enterprise: organization.id,
    user: organization.user,
  },
  {
    id: "TGRIDTWO",
    name: "Grid two",
    domain: "grid-two",
    enterprise: organization.id,
    user: organization.user,
  },
];

export const people: readonly FakeSlackPerson[] = [
  { id: workspace.person, name: "You", locale: "en-US", team: workspace.team },
  { id: "UHANAKO", name: "Hanako", locale: "ja-JP", team: workspace.team },
  { id: "UOUTSIDER", name: "Olive", locale: "en-GB", team: "TSECOND" },
  { id: "UGRID", name: "Gustav", locale: "de-DE", team: "TGRID", otherTeams: ["TGRIDTWO"] },
  { id: "UCOLLEAGUE", name: "Greta", locale: "de-DE", team: "TGRIDTWO" },
];

/** User groups and their members. */
export const groups: readonly {
  id: string;
  handle: string;
  team: string;
  users: readonly string[];
}[] = [
  { id: "SDEPLOYERS", handle: "deployers", team: workspace.team, users: ["UHANAKO"] },
  { id: "SNOBODY", handle: "nobody", team: workspace.team, users: [] },
  { id: "SGRID", handle: "grid", team: "TGRID", users: ["UGRID"] },
];

const { team } = workspace;
export const channels: readonly FakeSlackChannel[] = [
  workspace.channel,
  {
    ...{
      id: "CRANDOM",
      name: "random",
      direct: false,
      team,
      people: [workspace.person, "UHANAKO"],
    },
    topic: "Cats &amp; dogs, see <https://example.com/pets|the rules>",
  },
  { id: "CPRIVATE", name: "board", direct: false, private: true, team, people: ["UHANAKO"] },
  {
    id: "CHIDDEN",
    name: "secret",
    direct: false,
    private: true,
    team,
    withoutBot: true,
    people: ["UPERSON"],
  },
  {
    id: "CSHARED",
    name: "shared",
    direct: false,
    team,
    sharedWith: "TSECOND",
    people: ["UPERSON", "UOUTSIDER"],
  },
  {
    id: "CWITHOUT",
    name: "people-only",
    direct: false,
    team,
    withoutBot: true,
    people: ["UPERSON", "UHANAKO"],
  },
  workspace.directMessages,
  { id: "DHANAKO", name: "Sekisho", direct: true, team, people: ["UHANAKO"] },
  { id: "CSECOND", name: "second", direct: false, team: "TSECOND", people: ["UOUTSIDER"] },
  { id: "DSECOND", name: "Sekisho", direct: true, team: "TSECOND", people: ["UOUTSIDER"] },
  { id: "CGRID", name: "grid", direct: false, team: "TGRID", people: ["UGRID", "UCOLLEAGUE"] },
  { id: "DGRID", name: "Sekisho", direct: true, team: "TGRID", people: ["UGRID"] },
  { id: "CGRIDTWO", name: "grid-two", direct: false, team: "TGRIDTWO", people: ["UGRID"] },
];

export function findFakeChannel(id: string | undefined): FakeSlackChannel | undefined {
  return channels.find((channel) => channel.id === id);
}

export function findFakePerson(id: string | undefined): FakeSlackPerson | undefined {
  return people.find((person) => person.id === id);
}

export function findFakeTeam(id: string | undefined): FakeSlackTeam | undefined {
  return teams.find((each) => each.id === id);
}

/** The workspace that owns the channel; the first one for a channel that does not exist. */
export function findTeamOfChannel(id: string): FakeSlackTeam {
  return findFakeTeam(findFakeChannel(id)?.team) ?? teams[0];
}

/** True if the user is the app's own bot, in any installation. */
export function isOwnBot(user: string): boolean {
  return teams.some((each) => each.user === user);
}
