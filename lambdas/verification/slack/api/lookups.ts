/** Looks up people, their direct messages, channels and user groups: names, and to what they belong. */

import * as z from "zod";
import type { Installation } from "../../task/messages.ts";
import type { SlackCall } from "./call.ts";
import { parseAnswer } from "./posts.ts";
import type { SlackApi } from "./slack.ts";

type LookupCalls = Pick<
  SlackApi,
  "openDirect" | "person" | "groupMembers" | "groupHandles" | "channelInfo" | "channelMembers"
>;

const optionalText = z.string().optional().catch(undefined);
const flag = z.boolean().optional().catch(undefined);

/** https://docs.slack.dev/reference/objects/user-object */
const personSchema = z.object({
  user: z.object({
    locale: optionalText,
    team_id: optionalText,
    is_bot: flag,
    is_workflow_bot: flag,
    is_restricted: flag,
    is_ultra_restricted: flag,
    is_stranger: flag,
    is_email_confirmed: flag,
    deleted: flag,
    name: optionalText,
    real_name: optionalText,
    profile: z
      .object({ display_name: optionalText, real_name: optionalText, email: optionalText })
      .optional()
      .catch(undefined),
    enterprise_user: z
      .object({ enterprise_id: z.string(), teams: z.array(z.string()).default([]) })
      .optional()
      .catch(undefined),
  }),
});
type SlackUser = z.infer<typeof personSchema>["user"];

const openedSchema = z.object({ channel: z.object({ id: z.string() }) });
const groupMembersSchema = z.object({ users: z.array(z.string()) });
const groupsSchema = z.object({
  usergroups: z.array(z.object({ id: z.string(), handle: optionalText })),
});
const channelMembersSchema = z.object({
  members: z.array(z.string()),
  response_metadata: z.object({ next_cursor: z.string().default("") }).optional(),
});
/** https://docs.slack.dev/reference/objects/conversation-object */
const channelSchema = z.object({
  channel: z.object({
    name: optionalText,
    topic: z.object({ value: optionalText }).optional().catch(undefined),
    is_member: flag,
    is_im: flag,
    is_mpim: flag,
    is_private: flag,
    is_ext_shared: flag,
  }),
});

/** Members of one page. Slack allows 999. */
const memberPageSize = 900;
/** A channel with more members is read in part. */
const maxMemberPages = 3;

export function createLookupCalls(call: SlackCall): LookupCalls {
  return {
    async openDirect({ user, ...common }) {
      const args = { users: user };
      const answer = await call({
        method: "conversations.open",
        args,
        ...common,
        repeatable: true,
      });
      return { channel: parseAnswer(openedSchema, answer).channel.id };
    },
    async person({ user: id, ...common }) {
      const args = { user: id, include_locale: true };
      const answer = await call({ method: "users.info", args, ...common, repeatable: true });
      const {
        locale,
        team_id: team,
        is_bot: isBot,
        enterprise_user: colleague,
        ...user
      } = parseAnswer(personSchema, answer).user;
      const workspaces = [
        ...new Set([...(team === undefined ? [] : [team]), ...(colleague?.teams ?? [])]),
      ];
      // Each of them may be empty.
      const name =
        user.profile?.display_name || user.profile?.real_name || user.real_name || user.name;
      const email = isBot === false ? readEmail(user) : undefined;
      return { locale, workspaces, organization: colleague?.enterprise_id, isBot, name, email };
    },
    async groupMembers({ group, ...common }) {
      const args = { usergroup: group, ...teamArgs(common) };
      const answer = await call({
        method: "usergroups.users.list",
        args,
        ...common,
        repeatable: true,
      });
      return parseAnswer(groupMembersSchema, answer).users;
    },
    async groupHandles(common) {
      const answer = await call({
        method: "usergroups.list",
        args: teamArgs(common),
        ...common,
        repeatable: true,
      });
      const { usergroups } = parseAnswer(groupsSchema, answer);
      return new Map(
        usergroups.flatMap(({ id, handle }) => (handle ? [[id, handle] as const] : [])),
      );
    },
    async channelInfo({ channel, ...common }) {
      const answer = await call({
        method: "conversations.info",
        args: { channel },
        ...common,
        repeatable: true,
      });
      const { is_member, is_im, is_mpim, is_private, is_ext_shared, name, topic } = parseAnswer(
        channelSchema,
        answer,
      ).channel;
      return {
        // Slack shows an app only those direct messages that it is part of.
        hasBot: is_member === true || is_im === true,
        isShared: is_ext_shared === true,
        kind: is_im ? "direct" : is_mpim ? "group" : is_private === false ? "public" : "private",
        name: name || undefined,
        topic: topic?.value || undefined,
      };
    },
    async channelMembers({ channel, ...common }) {
      const members: string[] = [];
      let cursor = "";
      for (let page = 0; page < maxMemberPages; page++) {
        const args = { channel, limit: memberPageSize, ...(cursor !== "" && { cursor }) };
        const answer = await call({
          method: "conversations.members",
          args,
          ...common,
          repeatable: true,
        });
        const { members: channelMembers, response_metadata } = parseAnswer(
          channelMembersSchema,
          answer,
        );
        members.push(...channelMembers);
        cursor = response_metadata?.next_cursor ?? "";
        if (cursor === "") break;
      }
      return members;
    },
  };
}

/** A group belongs to one workspace, and the token of an organization is valid in all of them. */
function teamArgs({ installation: { team, enterprise } }: { installation: Installation }): {
  team_id?: string;
} {
  return enterprise === undefined ? {} : { team_id: team };
}

/** Undefined unless Slack says that the person is a full member with a confirmed address. What Slack does not say counts as no. */
function readEmail(user: Partial<SlackUser>): string | undefined {
  const isFullMember =
    user.deleted === false &&
    user.is_restricted === false &&
    user.is_ultra_restricted === false &&
    user.is_stranger !== true &&
    user.is_workflow_bot !== true;
  const isConfirmed = isFullMember && user.is_email_confirmed === true;
  const { email = "" } = user.profile ?? {};
  return isConfirmed && emailForm.test(email) ? email : undefined;
}

/** RFC 5321, section 4.5.3.1, has these lengths. */
const emailForm = /^[^\s@]{1,64}@[^\s@]{1,255}$/;
