import pg from "pg"

/** As many connections as the service takes at most. */
export const openPool = (name: string): pg.Pool =>
  new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10, application_name: name })
