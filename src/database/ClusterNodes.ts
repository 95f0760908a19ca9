import { Context, Effect, Fiber, Option } from "effect"
import { CurrentActor } from "../model/Actor.ts"

/** A node of a cluster that holds rows of accounts. */
export interface ClusterNode {
  /** Host and port. */
  readonly address: string
  readonly answers: boolean
  readonly isCoordinator: boolean
  /** The accounts whose rows are on the node. */
  readonly accounts: ReadonlyArray<{ readonly id: string; readonly name: string }>
}

/** Stands for all nodes: the place of a statement about all accounts. */
export const everyNode = "every node"

/** The statement needs a node of a cluster that does not answer. It has the code of a socket timeout, as other missed deadlines. */
export class NodeDown extends Error {
  readonly code = "ETIMEDOUT"

  constructor(node: string) {
    super(node === everyNode ? "a node of the cluster does not answer" : `node ${node} does not answer`)
  }
}

/**
 * The nodes of a cluster as the watch of this process last saw them. While a node does not answer, statements of its accounts are
 * refused at once. Empty without a cluster, and in processes without the watch.
 */
export class NodeStates {
  private nodeByAccount: ReadonlyMap<string, string> = new Map()
  private coordinator: string | undefined
  private readonly down = new Set<string>()
  private readonly answered = new Set<string>()
  private readonly listeners = new Set<(node: string) => void>()

  /** Calls the listener when a node ceases to answer. */
  onDown(listener: (node: string) => void): void {
    this.listeners.add(listener)
  }

  get isEmpty(): boolean {
    return this.nodeByAccount.size === 0
  }

  /** Undefined: unknown. A new account is known after the next check. */
  nodeOf(accountId: string | undefined): string | undefined {
    return accountId === undefined ? undefined : this.nodeByAccount.get(accountId)
  }

  /** The node of an account if it answers and is not the coordinator. Undefined: only the coordinator can be asked. */
  workerOf(accountId: string): string | undefined {
    const node = this.nodeByAccount.get(accountId)
    return node === undefined || node === this.coordinator || this.down.has(node) ? undefined : node
  }

  get hasDown(): boolean {
    return this.down.size > 0
  }

  isDown(node: string): boolean {
    return this.down.has(node)
  }

  /** The accounts on nodes that answer. */
  accountsThatAnswer(): ReadonlyArray<string> {
    return [...this.nodeByAccount].flatMap(([accountId, node]) => (this.isDown(node) ? [] : [accountId]))
  }

  /** Notes that a node answered the coordinator. A check that began earlier then cannot report it as down. */
  noteAnswer(node: string | undefined): void {
    if (node !== undefined) this.answered.add(node)
  }

  beginCheck(): void {
    this.answered.clear()
  }

  /** Saves the result of a check. Returns the nodes that ceased to answer, and those that answer again. */
  endCheck(nodes: ReadonlyArray<ClusterNode>): ReadonlyArray<ClusterNode> {
    const changed = nodes.filter(({ address, answers }) => {
      if (answers) return this.down.delete(address)
      if (this.answered.has(address) || this.down.has(address)) return false
      this.down.add(address)
      return true
    })
    for (const address of this.down) if (!nodes.some((node) => node.address === address)) this.down.delete(address)
    this.coordinator = nodes.find(({ isCoordinator }) => isCoordinator)?.address
    // With a single node there are no other accounts to protect.
    this.nodeByAccount = new Map(
      nodes.length < 2 ? [] : nodes.flatMap(({ accounts, address }) => accounts.map(({ id }) => [id, address] as const))
    )
    for (const { address, answers } of changed) if (!answers) for (const listener of this.listeners) listener(address)
    return changed
  }
}

/**
 * The states of the nodes, which the database's pools read.
 *
 * @effect-leakable-service
 */
export class ClusterNodes extends Context.Reference<ClusterNodes>()("catalog/ClusterNodes", {
  defaultValue: () => new NodeStates()
}) {}

/**
 * The account whose rows the statements of a fiber need. Undefined: the actor's account.
 *
 * @effect-leakable-service
 */
export class StatementAccount extends Context.Reference<StatementAccount>()("catalog/StatementAccount", {
  defaultValue: (): string | undefined => undefined
}) {}

/** @effect-leakable-service */
class AtNode extends Context.Reference<AtNode>()("catalog/AtNode", { defaultValue: () => false }) {}

/**
 * Lets the account's node run the transactions of an effect, and its statements outside transactions, without the coordinator. All of
 * them must concern the actor's account, and only tables that a cluster distributes.
 */
export const atNode = Effect.provideService(AtNode, true)

/** The account of the calling fiber, if `atNode` lets its node run the statements. */
export const accountAtNode = (): string | undefined => {
  const services = Option.getOrUndefined(Fiber.getCurrentFiber())?.currentContext.unsafeMap
  return services?.get(AtNode.key) === true ? services.get(CurrentActor.key)?.accountId : undefined
}

/** Marks statements of background work with their account, so that they are refused while its node does not answer. */
export const ofAccount = (accountId: string) => Effect.provideService(StatementAccount, accountId)
