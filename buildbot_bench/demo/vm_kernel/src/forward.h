/* What is done to each packet between the receiving and the sending interface. */
#ifndef FORWARD_H
#define FORWARD_H

#include "mbuf.h"

/* Takes a packet that came in; afterwards it is sent, or dropped. */
void ip_forward(struct mbuf *mbuf);

#endif
