"""Muon (Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks") for the matrices of the layers, Adam for the rest."""

import torch

from model import matrix_units

MOMENTUM = 0.95
ADAM_BETAS = (0.9, 0.98)


def orthogonal(matrix, steps=5):
    """The nearest matrix whose singular values are all about one, by a Newton-Schulz iteration of fifth degree; rounded as products are."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = (matrix / (matrix.norm() + 1e-7)).to(torch.bfloat16 if matrix_units() else torch.float)
    wide = x.shape[0] <= x.shape[1]
    x = x if wide else x.T
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return (x if wide else x.T).float()


class Optimizer:
    def __init__(self, model):
        self.matrices = [weight for name, weight in model.named_parameters() if weight.ndim == 2 and name != "embedding"]
        others = [weight for name, weight in model.named_parameters() if weight.ndim == 1 or name == "embedding"]
        self.adam = torch.optim.Adam(others, betas=ADAM_BETAS, eps=1e-10)
        self.moments = [torch.zeros_like(weight).share_memory_() for weight in self.matrices]

    @torch.no_grad()
    def step(self, matrix_rate, other_rate, decay, rank, processes):
        """The update of one process out of several that share the weights: every so-manieth matrix, and the first one the rest."""
        for weight, moment in list(zip(self.matrices, self.moments, strict=True))[rank::processes]:
            moment.mul_(MOMENTUM).add_(weight.grad, alpha=1 - MOMENTUM)
            update = orthogonal(weight.grad.lerp(moment, MOMENTUM)) * max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5
            weight.mul_(1 - matrix_rate * decay).add_(update, alpha=-matrix_rate)
        if rank == 0:
            for group in self.adam.param_groups:
                group["lr"] = other_rate
            self.adam.step()

    def state(self):
        return {"adam": self.adam.state_dict(), "moments": self.moments}

    def load(self, state):
        self.adam.load_state_dict(state["adam"])
        for moment, stored in zip(self.moments, state["moments"], strict=True):
            moment.copy_(stored)
