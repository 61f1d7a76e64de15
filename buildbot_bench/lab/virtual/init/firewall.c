/* Stateful firewalls with the one rule that lets everything pass and keeps a state of it.
 *
 * ipfw's messages are those of FreeBSD 11 to 14 (netinet/ip_fw.h), pf's rules those of 13
 * (net/pfvar.h, netpfil/pf/pf.h): another kernel refuses the call. */
#include "init.h"

#include "freebsd.h"

#define IPFW_OPTION 48 /* IP_FW3 */
#define IPFW_ADD_RULE 98
#define IPFW_OBJECTS 2 /* types of what a message consists of */
#define IPFW_RULES 3
#define IPFW_STATE_NAME 14

/* What a rule does: its instructions. */
#define IPFW_PROBE_STATE 38
#define IPFW_KEEP_STATE 39
#define IPFW_ACCEPT 45

struct part {
	uint16_t type, flags;
	uint32_t length;
};

struct list {
	struct part part;
	uint32_t count;
	uint16_t object_size;
	uint8_t version, flags;
};

struct instruction {
	uint8_t code, words;
	uint16_t argument;
};

struct ipfw_message {
	uint16_t operation, version, reserved[2];
	struct list names;
	struct {
		struct part part;
		uint16_t index;
		uint8_t set, type;
		uint32_t spare;
		char name[64];
	} state;
	struct list rules;
	struct {
		uint16_t action_at, words, spare;
		uint8_t set, flags;
		uint32_t number, id;
		struct instruction instructions[3];
		uint32_t padding;
	} rule;
};

_Static_assert(sizeof(struct ipfw_message) == 152, "IP_FW_XADD");

/* ipfw: allow ip from any to any keep-state */
long
do_ipfw(char *line)
{
	struct ipfw_message message = {
		.operation = IPFW_ADD_RULE,
		.names = { { IPFW_OBJECTS, 0, sizeof(message.names) + sizeof(message.state) }, 1,
		    sizeof(message.state), 0, 0 },
		.state = { { IPFW_STATE_NAME, 0, sizeof(message.state) }, 1, 0, 0, 0, "default" },
		.rules = { { IPFW_RULES, 0, sizeof(message.rules) + sizeof(message.rule) }, 1,
		    sizeof(message.rule), 0, 0 },
		.rule = { .action_at = 2, .words = 3, .number = 100, .instructions = {
		    { IPFW_PROBE_STATE, 1, 1 }, { IPFW_KEEP_STATE, 1, 1 }, { IPFW_ACCEPT, 1, 0 } } },
	};
	uint32_t size = sizeof(message);
	long descriptor = syscall(SOCKET, FAMILY_INET, RAW, RAW_IP), result;

	(void)line;
	if (descriptor < 0)
		return descriptor;
	result = syscall(GETSOCKOPT, descriptor, 0, IPFW_OPTION, &message, &size);
	syscall(CLOSE, descriptor);
	return result;
}

#define PF "/dev/pf"
#define PF_FILTER 1 /* the set of rules */
#define PF_KEEP_STATE 1
#define ANY_TABLE (-1)

struct pf_change {
	int32_t set;
	char anchor[1024];
	uint32_t ticket;
};

struct pf_changes {
	int32_t count, size;
	struct pf_change *changes;
};

struct pf_pool {
	uint32_t action, ticket;
	uint8_t rest[1128];
};

struct pf_new_rule {
	uint32_t action, ticket, pool_ticket, number;
	char anchor[2048];
	uint8_t from_and_to[112]; /* all zero: any */
	uint8_t names_and_more[588];
	int32_t table;
	uint8_t counters_and_more[200];
	uint8_t does, direction, log, log_interface, quick, negated, nat, nat_pass; /* 0: pass */
	uint8_t keep_state, family, protocol, rest[61];
};

_Static_assert(sizeof(struct pf_change) == 1032, "pfioc_trans_e");
_Static_assert(sizeof(struct pf_pool) == 1136, "pfioc_pooladdr");
_Static_assert(sizeof(struct pf_new_rule) == 3040, "pfioc_rule");
_Static_assert(offsetof(struct pf_new_rule, table) == 2064 + 700, "pf_rule.rtableid");
_Static_assert(offsetof(struct pf_new_rule, does) == 2064 + 904, "pf_rule.action");
_Static_assert(offsetof(struct pf_new_rule, keep_state) == 2064 + 912, "pf_rule.keep_state");

#define PF_START 0x20004401u
#define PF_ADD_RULE IOWR('D', 4, sizeof(struct pf_new_rule))
#define PF_BEGIN_POOL IOWR('D', 51, sizeof(struct pf_pool))
#define PF_BEGIN IOWR('D', 81, sizeof(struct pf_changes))
#define PF_COMMIT IOWR('D', 82, sizeof(struct pf_changes))

/* pf: pass all keep state */
long
do_pf(char *line)
{
	static struct pf_change change = { .set = PF_FILTER };
	static struct pf_new_rule rule = { .table = ANY_TABLE, .keep_state = PF_KEEP_STATE };
	static struct pf_pool pool;
	struct pf_changes changes = { 1, sizeof(change), &change };
	long descriptor = syscall(OPEN, PF, READ_WRITE), result;

	(void)line;
	if (descriptor < 0)
		return descriptor;
	result = syscall(IOCTL, descriptor, PF_BEGIN, &changes);
	if (result >= 0)
		result = syscall(IOCTL, descriptor, PF_BEGIN_POOL, &pool);
	rule.ticket = change.ticket;
	rule.pool_ticket = pool.ticket;
	if (result >= 0)
		result = syscall(IOCTL, descriptor, PF_ADD_RULE, &rule);
	if (result >= 0)
		result = syscall(IOCTL, descriptor, PF_COMMIT, &changes);
	if (result >= 0)
		result = syscall(IOCTL, descriptor, PF_START, NULL);
	syscall(CLOSE, descriptor);
	return result;
}
