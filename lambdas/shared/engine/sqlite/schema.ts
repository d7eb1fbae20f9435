/** The tables of the one file that a zone keeps, and how an older file becomes the newest one. */

/** In the file's header, so that nobody's other database is taken for ours: "SEKI". */
export const applicationId = 0x53454b49;

/**
 * Each entry leads from version `index` to `index + 1`; entries are only ever appended.
 * AUTOINCREMENT, because a number that was used again would make an old cursor skip an item, and an old receipt remove
 * another message.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE tasks (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     revision INTEGER NOT NULL,
     state TEXT NOT NULL,
     thread TEXT,
     principal TEXT,
     expires_at_ms INTEGER NOT NULL,
     item TEXT NOT NULL
   ) STRICT;
   CREATE INDEX tasks_by_state ON tasks (state, seq);
   CREATE INDEX tasks_by_thread ON tasks (thread, seq) WHERE thread IS NOT NULL;
   CREATE INDEX tasks_by_principal ON tasks (principal, seq) WHERE principal IS NOT NULL;
   CREATE INDEX tasks_by_expiry ON tasks (expires_at_ms);
   CREATE TABLE messages (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     queue TEXT NOT NULL,
     body TEXT NOT NULL,
     sent_at_ms INTEGER NOT NULL,
     visible_at_ms INTEGER NOT NULL,
     receive_count INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE INDEX messages_by_due_time ON messages (queue, visible_at_ms);`,
  `ALTER TABLE tasks ADD COLUMN listed_at_ms INTEGER;
   DROP INDEX tasks_by_principal;
   CREATE INDEX tasks_by_principal ON tasks (principal, listed_at_ms, id)
     WHERE principal IS NOT NULL AND listed_at_ms IS NOT NULL;`,
];
