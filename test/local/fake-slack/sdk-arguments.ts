/** The arguments of the fake Slack's methods beside the types of Slack's own client. What differs does not compile. */

import type { manifestSchema } from "@sekisho/local/fake-slack/manifest.ts";
import type {
  argumentNames,
  argumentTypes,
} from "@sekisho/local/fake-slack/methods/argument-names.ts";
import type { SlackMethod } from "@sekisho/local/fake-slack/methods/table.ts";
import type {
  AgentsSessionsRenameArguments,
  AgentsSessionsSetStatusArguments,
  AppsManifestValidateArguments,
  AssistantThreadsSetStatusArguments,
  AssistantThreadsSetSuggestedPromptsArguments,
  AuthTestArguments,
  BlocksValidateArguments,
  ChatAppendStreamArguments,
  ChatDeleteArguments,
  ChatGetPermalinkArguments,
  ChatPostEphemeralArguments,
  ChatPostMessageArguments,
  ChatStartStreamArguments,
  ChatStopStreamArguments,
  ChatUpdateArguments,
  ConversationsHistoryArguments,
  ConversationsInfoArguments,
  ConversationsMembersArguments,
  ConversationsOpenArguments,
  ConversationsRepliesArguments,
  FilesCompleteUploadExternalArguments,
  FilesGetUploadURLExternalArguments,
  FilesInfoArguments,
  OAuthV2AccessArguments,
  ReactionsAddArguments,
  ReactionsRemoveArguments,
  UsergroupsListArguments,
  UsergroupsUsersListArguments,
  UsersInfoArguments,
  ViewsOpenArguments,
  ViewsPublishArguments,
} from "@slack/web-api";
import type * as z from "zod";

type ClientArguments = {
  "agents.sessions.rename": AgentsSessionsRenameArguments;
  "agents.sessions.setStatus": AgentsSessionsSetStatusArguments;
  "apps.manifest.validate": AppsManifestValidateArguments;
  "assistant.threads.setStatus": AssistantThreadsSetStatusArguments;
  "assistant.threads.setSuggestedPrompts": AssistantThreadsSetSuggestedPromptsArguments;
  "auth.test": AuthTestArguments;
  "blocks.validate": BlocksValidateArguments;
  /** Slack's client does not have it yet: https://docs.slack.dev/reference/methods/canvases.getContent. */
  "canvases.getContent": { canvas_id: string; content_type?: "markdown" | "html" };
  "chat.postMessage": ChatPostMessageArguments;
  "chat.update": ChatUpdateArguments;
  "chat.delete": ChatDeleteArguments;
  "chat.postEphemeral": ChatPostEphemeralArguments;
  "chat.getPermalink": ChatGetPermalinkArguments;
  "chat.startStream": ChatStartStreamArguments;
  "chat.appendStream": ChatAppendStreamArguments;
  "chat.stopStream": ChatStopStreamArguments;
  "conversations.history": ConversationsHistoryArguments;
  "conversations.info": ConversationsInfoArguments;
  "conversations.replies": ConversationsRepliesArguments;
  "conversations.members": ConversationsMembersArguments;
  "conversations.open": ConversationsOpenArguments;
  "files.info": FilesInfoArguments;
  "files.getUploadURLExternal": FilesGetUploadURLExternalArguments;
  "files.completeUploadExternal": FilesCompleteUploadExternalArguments;
  "oauth.v2.access": OAuthV2AccessArguments;
  "reactions.add": ReactionsAddArguments;
  "reactions.remove": ReactionsRemoveArguments;
  "usergroups.list": UsergroupsListArguments;
  "usergroups.users.list": UsergroupsUsersListArguments;
  "users.info": UsersInfoArguments;
  "views.open": ViewsOpenArguments;
  "views.publish": ViewsPublishArguments;
};

type Words<S extends string> = S extends `${infer First} ${infer Rest}`
  ? First | Words<Rest>
  : S extends ""
    ? never
    : S;
/** The members of each type of a union, together. */
type KeysOf<T> = T extends unknown ? keyof T : never;
type Client<M extends SlackMethod> = NonNullable<ClientArguments[M]>;
type ClientNames<M extends SlackMethod> = Exclude<KeysOf<Client<M>>, "token">;
type FakeNames<M extends SlackMethod> = Words<(typeof argumentNames)[M]>;

type NamesThatDiffer = {
  [M in SlackMethod]: Exclude<ClientNames<M>, FakeNames<M>> | Exclude<FakeNames<M>, ClientNames<M>>;
};

type ValueOf<T, N extends PropertyKey> = T extends { [K in N]?: infer V } ? NonNullable<V> : never;
type TypeOf<V> = [V] extends [boolean]
  ? "flag"
  : [V] extends [number]
    ? "count"
    : [V] extends [string]
      ? "text"
      : "json";
type FakeType<N> =
  N extends Words<(typeof argumentTypes)["flag"]>
    ? "flag"
    : N extends Words<(typeof argumentTypes)["count"]>
      ? "count"
      : N extends Words<(typeof argumentTypes)["json"]>
        ? "json"
        : "text";
type TypesThatDiffer = {
  [M in SlackMethod]: {
    [N in FakeNames<M>]: FakeType<N> extends TypeOf<ValueOf<Client<M>, N>> ? never : N;
  }[FakeNames<M>];
};

/** A manifest that the fake takes is one for the client. Of some scopes and events the client does not know yet. */
type NewerThanTheClient = "assistant:write" | "canvases:read" | "agent_session_stopped";
type ClientManifest = AppsManifestValidateArguments["manifest"];
type FakeManifest = z.infer<typeof manifestSchema>;
type DeepKeys<T> = T extends readonly (infer E)[]
  ? DeepKeys<E>
  : T extends object
    ? {
        [K in keyof T & string]:
          | K
          | (DeepKeys<NonNullable<T[K]>> extends infer D extends string ? `${K}.${D}` : never);
      }[keyof T & string]
    : never;
type Declared<T> = { [K in keyof T as string extends K ? never : K]: T[K] };
type Features = NonNullable<ClientManifest["features"]>;
type ManifestKeysThatDiffer =
  | Exclude<keyof FakeManifest, keyof Declared<ClientManifest>>
  | Exclude<DeepKeys<NonNullable<FakeManifest["features"]>>, DeepKeys<Features>>
  | Exclude<
      DeepKeys<NonNullable<FakeManifest["settings"]>>,
      DeepKeys<NonNullable<ClientManifest["settings"]>>
    >
  | Exclude<
      DeepKeys<NonNullable<FakeManifest["oauth_config"]>>,
      DeepKeys<NonNullable<ClientManifest["oauth_config"]>>
    >;
type ClientScope = NonNullable<
  NonNullable<NonNullable<ClientManifest["oauth_config"]>["scopes"]>["bot"]
>[number];
type ClientEvent = NonNullable<
  NonNullable<NonNullable<ClientManifest["settings"]>["event_subscriptions"]>["bot_events"]
>[number];
type FakeScope = NonNullable<
  NonNullable<NonNullable<FakeManifest["oauth_config"]>["scopes"]>["bot"]
>[number];
type FakeEvent = NonNullable<
  NonNullable<NonNullable<FakeManifest["settings"]>["event_subscriptions"]>["bot_events"]
>[number];
type ManifestNamesThatDiffer = Exclude<
  FakeScope | FakeEvent,
  ClientScope | ClientEvent | NewerThanTheClient
>;

/** The compiler names what differs, as the value that is missing here. */
export const nothingDiffers: {
  names: {
    [M in SlackMethod as [NamesThatDiffer[M]] extends [never] ? never : M]: NamesThatDiffer[M];
  };
  types: {
    [M in SlackMethod as [TypesThatDiffer[M]] extends [never] ? never : M]: TypesThatDiffer[M];
  };
  manifest: {
    [K in ManifestKeysThatDiffer | ManifestNamesThatDiffer]: "not in the types of the client";
  };
} = { names: {}, types: {}, manifest: {} };
