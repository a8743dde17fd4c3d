import type { StateType } from './counters.ts';
import type { Tracker } from './state.ts';

type EpicStateName = 'to do' | 'in progress' | 'done';

const workflowOf = ({ epicWorkflow }: Tracker) => {
  for (const workflow of epicWorkflow.values()) return workflow;
  throw new Error('the workspace has no epic workflow');
};
export const defaultEpicState = (state: Tracker): number => workflowOf(state).default_epic_state_id;

export const epicStateType = (state: Tracker, id: number): StateType => {
  const type = workflowOf(state).epic_states.find((each) => each.id === id)?.type;
  return type === 'started' || type === 'done' ? type : 'unstarted';
};
/** The deprecated word for a state of the epic workflow. */
export const epicStateName = (state: Tracker, id: number): EpicStateName =>
  nameOfType(epicStateType(state, id));
export const nameOfType = (type: StateType): EpicStateName =>
  type === 'done' ? 'done' : type === 'started' ? 'in progress' : 'to do';
const typeOfName = { 'to do': 'unstarted', 'in progress': 'started', done: 'done' } as const;

/** spec/tracker#states: deprecated `state` counts only when epic_state_id is absent. */
export const wantedEpicState = (
  state: Tracker,
  body: { epic_state_id?: number; state?: EpicStateName },
): number | undefined => {
  if (body.epic_state_id !== undefined) return body.epic_state_id;
  if (body.state === undefined) return undefined;
  const type = typeOfName[body.state];
  return workflowOf(state).epic_states.find((each) => each.type === type)?.id;
};

type Progress = {
  started: boolean;
  started_at: string | null;
  completed: boolean;
  completed_at: string | null;
};
export const noProgress: Progress = {
  started: false,
  started_at: null,
  completed: false,
  completed_at: null,
};

/** Start and completion as they follow from a move into a state of this type. Moving back takes them away again. */
export const progressInto = (before: Progress, type: StateType, at: string): Progress => ({
  started: type === 'started' || type === 'done',
  started_at: type === 'started' || type === 'done' ? (before.started_at ?? at) : null,
  completed: type === 'done',
  completed_at: type === 'done' ? (before.completed_at ?? at) : null,
});
export const typeOfObjectiveState = (name: EpicStateName): StateType => typeOfName[name];
