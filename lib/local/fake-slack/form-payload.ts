/**
 * What Slack posts as forms: slash commands (https://docs.slack.dev/interactivity/implementing-slash-commands) and pressed
 * buttons (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload).
 */
import type { FakeSlackButton } from "./blocks.ts";
import type { FakeSlackMessage } from "./messages.ts";
import { toSlackMessage } from "./slack-message.ts";
import { type FakeSlackChannel, findFakePerson, findFakeTeam, organization, workspace } from "./workspace.ts";

const token = "retired-verification-token";

export function createCommandForm({
  channel,
  user,
  command,
  text,
  triggerId,
}: {
  channel: FakeSlackChannel;
  user: string;
  command: string;
  text: string;
  triggerId: string;
}): Record<string, string> {
  const team = findFakeTeam(channel.team);
  return {
    token,
    team_id: channel.team,
    team_domain: team?.domain ?? "",
    ...(team?.enterprise === undefined ? {} : { enterprise_id: team.enterprise, enterprise_name: organization.name }),
    channel_id: channel.id,
    channel_name: channel.direct ? "directmessage" : channel.name,
    user_id: user,
    user_name: nameOf(user),
    command,
    text,
    api_app_id: workspace.app,
    is_enterprise_install: String(team?.enterprise !== undefined),
    response_url: "https://hooks.slack.invalid/commands/fake-slack",
    trigger_id: triggerId,
  };
}

export function createClickForm({
  channel,
  message,
  clicked: { blockId, button },
  user,
  triggerId,
  actionTs,
  filesUrl,
}: {
  channel: FakeSlackChannel;
  message: FakeSlackMessage;
  clicked: { blockId: string; button: FakeSlackButton };
  user: string;
  triggerId: string;
  actionTs: string;
  filesUrl: string;
}): { payload: string } {
  const team = findFakeTeam(channel.team);
  const enterprise = team?.enterprise === undefined ? null : { id: team.enterprise, name: organization.name };
  const { threadTs } = message;
  const payload = {
    type: "block_actions",
    user: { id: user, username: nameOf(user), name: nameOf(user), team_id: findFakePerson(user)?.team ?? channel.team },
    api_app_id: workspace.app,
    token,
    container: {
      type: "message",
      message_ts: message.ts,
      channel_id: channel.id,
      is_ephemeral: false,
      ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
    },
    trigger_id: triggerId,
    team: {
      id: channel.team,
      domain: team?.domain,
      ...(enterprise === null ? {} : { enterprise_id: enterprise.id, enterprise_name: enterprise.name }),
    },
    enterprise,
    is_enterprise_install: enterprise !== null,
    channel: { id: channel.id, name: channel.direct ? "directmessage" : channel.name },
    message: toSlackMessage({ message, withMetadata: true, filesUrl }),
    state: { values: {} },
    response_url: "https://hooks.slack.invalid/actions/fake-slack",
    actions: [{ ...button, block_id: blockId, action_ts: actionTs }],
  };
  return { payload: JSON.stringify(payload) };
}

function nameOf(user: string): string {
  return findFakePerson(user)?.name.toLowerCase() ?? user.toLowerCase();
}
